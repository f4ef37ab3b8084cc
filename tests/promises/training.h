// A small training from CSV files, for tests of the promises: 7 files x 29 rows, 6 features and a label, quoted fields
// with newlines among them, two epochs.
#pragma once

#include <string>
#include <vector>

#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"

namespace millrace::testing {

inline constexpr int kFiles = 7, kRows = 29, kEpochs = 2;
inline constexpr int kAllRows = kFiles * kRows * kEpochs;

// Writes the data set into `folder`; some values are quoted, and every fifth row has a text column with a newline.
inline void write_data(const TempFolder& folder) {
  for (int file = 0; file < kFiles; ++file) {
    std::string text;
    for (int row = 0; row < kRows; ++row) {
      double sum = 0;
      for (int column = 0; column < 6; ++column) {
        const uint64_t draw = philox64(7, static_cast<uint64_t>(file), static_cast<uint64_t>(row * 6 + column));
        const double value = to_unit(draw) * 4 - 2;
        sum += value;
        text += column == 3 && row % 4 == 0 ? cat('"', static_cast<float>(value), "\",")
                                            : cat(static_cast<float>(value), ',');
      }
      text += row % 5 == 0 ? "\"a \"\"note\"\"\nover two lines\"," : "plain,";
      text += sum > 0 ? "1.0\n" : "0.0\n";
    }
    folder.write(cat("part-", file, ".csv"), text);
  }
}

struct Setting {
  int threads = 2;
  int decode_threads = 2;
  int chunk_bytes = 262144;
  int capacity = 60;
  std::string delivery = "native";
  std::string op = {};    // a further op behind decode_csv
  std::string more = {};  // further top-level YAML
};

inline std::string training_yaml(const TempFolder& folder, const Setting& setting) {
  return cat("seed: 5\ndevice: cpu\nthreads: ", setting.threads,
             "\ninput:\n  - filename_queue: {files: ", quote(folder.path("part-*.csv"), 4096), ", epochs: ", kEpochs,
             "}\n  - csv_reader: {chunk_bytes: ", setting.chunk_bytes,
             "}\n  - decode_csv: {fields: {features: {columns: 0-5}, label: {columns: 7}}}\n",
             setting.op.empty() ? "" : cat("  - ", setting.op, '\n'),
             "  - shuffle_batch: {batch_size: 16, capacity: ", setting.capacity,
             ", min_after_dequeue: 20, threads: ", setting.decode_threads,
             ", allow_smaller_final_batch: true}\ndelivery: ", setting.delivery,
             "\nmodel:\n  - dense: {units: 40, activation: relu}\n  - dense: {units: 1}\nloss: sigmoid_cross_entropy\n",
             "metrics: [accuracy]\noptimizer: {sgd: {learning_rate: 0.1}}\n", setting.more);
}

inline Trainer make_trainer(const TempFolder& folder, const Setting& setting = {}) {
  return Trainer::from_spec(parse_yaml(training_yaml(folder, setting), "test.yaml"));
}

}  // namespace millrace::testing
