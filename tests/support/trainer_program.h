// The built command line, run in a folder of the test.
#pragma once

#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/run_command.h"

namespace millrace::testing {

inline std::string trainer_program() { return test::binary_dir() + "/trainer"; }

inline std::vector<std::string> trainer_words(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), trainer_program());
  return arguments;
}

inline CommandResult run_trainer(std::vector<std::string> arguments, const CommandOptions& options = {}) {
  return run_command(trainer_words(std::move(arguments)), options);
}

// Settings of a small training: 4 files of 10 rows, 2 features and a label, made by `write_small_data`.
inline const char* small_config() {
  return "seed: 23\n"
         "device: cpu\n"
         "threads: 2\n"
         "input:\n"
         "  - filename_queue: {files: \"part-*.csv\", shuffle: false, epochs: 2}\n"
         "  - csv_reader: {header: false}\n"
         "  - decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2}}}\n"
         "  - batch: {batch_size: 7, allow_smaller_final_batch: true}\n"
         "model:\n"
         "  - dense: {units: 3, activation: relu}\n"
         "  - dense: {units: 1}\n"
         "loss: sigmoid_cross_entropy\n"
         "metrics: [accuracy]\n"
         "optimizer: {sgd: {learning_rate: 0.1}}\n"
         "train: {log_every: 5}\n";
}

template <class Folder>
void write_small_data(const Folder& folder) {
  for (int file = 0; file < 4; ++file) {
    std::string text;
    for (int row = 0; row < 10; ++row) {
      const int value = file * 10 + row;
      text += std::to_string(value) + "," + std::to_string(20 - value) + ".25," + (value % 3 == 0 ? "1" : "0") + "\n";
    }
    folder.write("part-" + std::to_string(file) + ".csv", text);
  }
  folder.write("small.yaml", small_config());
}

// A training whose data never end.
inline const char* endless_config() {
  return "seed: 1\n"
         "device: cpu\n"
         "threads: 2\n"
         "input:\n"
         "  - synthetic: {task: sum, features: 8}\n"
         "  - batch: {batch_size: 16}\n"
         "model:\n"
         "  - dense: {units: 1}\n"
         "loss: sigmoid_cross_entropy\n"
         "metrics: [accuracy]\n"
         "optimizer: {sgd: {learning_rate: 0.1}}\n"
         "train: {log_every: 1000}\n";
}

}  // namespace millrace::testing
