// A small model to serve: it reads the columns a, a number with the default 3, and b, a class 0, 1 or 2.
#pragma once

#include <memory>
#include <string>

#include "millrace/cli/serve/served_model.h"
#include "millrace/core/text.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {

inline void train_served(const TempFolder& folder, const std::string& name, int seed = 1) {
  std::string text = "a,b,label\n";
  for (int i = 0; i < 60; ++i) text += cat(i % 7, ',', i % 3, ',', 2 * (i % 7) - i % 3, '\n');
  folder.write("train.csv", text);
  Trainer::from_string(
      cat("seed: ", seed, "\ndevice: cpu\ninput:\n- filename_queue: {files: ", quote(folder.path("train.csv"), 4096),
          "}\n- csv_reader: {header: true}\n- decode_csv: {fields: {a: {columns: a, default: 3}, b: {columns: b, "
          "type: ",
          "int32}, label: {columns: label}}}\n- one_hot: {field: b, classes: 3, as: c}\n- batch: {batch_size: 8}\n",
          "model:\n- concat: {from: [a, c]}\n- dense: {units: 1}\nloss: mse\noptimizer: {sgd: {learning_rate: 0.01}}\n",
          "train: {steps: 10}\nsave: ", folder.path(name), '\n'),
      "t.yaml")
      .run();
}

inline std::shared_ptr<const ServedModel> load_served(const std::string& path) {
  return std::make_shared<const ServedModel>(ModelFile::read(path), NetworkOptions(), Catalog::builtin(), std::nullopt);
}

}  // namespace millrace::cli
