// Arrays of NumPy from the data to the answer: as the same values in CSV, and with other files for each field.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/predict/network.h"
#include "millrace/trainer/trainer.h"
#include "tests/input/arrays/array_bytes.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using testing_support::bytes_of_numbers;
using testing_support::npy_array;
using testing_support::zip_file;

class ArrayTraining : public ::testing::Test {
 protected:
  ArrayTraining() {
    write("", 60, 0);
    write("test-", 25, 1000);
  }

  // x is float32 (rows, 4), y is int64 (rows): one of three classes.
  void write(const std::string& name, int rows, int seed) {
    std::vector<float> x;
    std::vector<int64_t> y;
    std::string csv;
    for (int row = 0; row < rows; ++row) {
      y.push_back((row + seed) % 3);
      for (int i = 0; i < 4; ++i) {
        x.push_back(static_cast<float>((row * 7 + i * 5 + seed) % 11) / 8 + (i == y.back() ? 1.0F : 0.0F));
        csv += cat(x.back(), ',');
      }
      csv += cat(y.back(), '\n');
    }
    const std::string features = npy_array("<f4", cat("(", rows, ", 4)"), bytes_of_numbers(x));
    const std::string labels = npy_array("<i8", cat("(", rows, ",)"), bytes_of_numbers(y));
    folder_.write(name + "x.npy", features);
    folder_.write(name + "y.npy", labels);
    folder_.write(name + "all.npz", zip_file({{"x.npy", features}, {"y.npy", labels}}));
    folder_.write(name + "features.npz", zip_file({{"x.npy", features}}));
    folder_.write(name + "all.csv", csv);
  }

  std::string path(const std::string& name) const { return quote(folder_.path(name), 4096); }
  std::string arrays(const std::string& name) const {
    return cat("{features: ", path(name + "x.npy"), ", label: ", path(name + "y.npy"), "}");
  }
  std::string npy() const { return cat("  - npy_reader: {fields: ", arrays(""), ", epochs: 3, chunk_bytes: 100}\n"); }
  std::string npz() const {
    return cat("  - filename_queue: {files: ", path("all.npz"), ", epochs: 3}\n",
               "  - npz_reader: {fields: {features: x, label: y}}\n");
  }
  std::string csv() const {
    return cat("  - filename_queue: {files: ", path("all.csv"), ", epochs: 3}\n  - csv_reader\n",
               "  - decode_csv: {fields: {features: {columns: 0-3}, label: {columns: 4, type: int64}}}\n");
  }

  struct Trained {
    std::string weights;
    std::vector<double> validations;
    bool operator==(const Trained&) const = default;
  };
  // Saves the model as NAME.safetensors.
  Trained train(const std::string& name, const std::string& input, const std::string& validation_files) {
    Trainer trainer = Trainer::from_spec(parse_yaml(
        cat("seed: 5\ndevice: cpu\nthreads: 2\ninput:\n", input,
            "  - shuffle_batch: {batch_size: 8, capacity: 40, min_after_dequeue: 20}\n",
            "model: [dense: {units: 8, activation: relu}, dense: {units: 3}]\nloss: softmax_cross_entropy\n",
            "metrics: [accuracy]\noptimizer: {adam: {learning_rate: 0.01}}\nvalidation: {files: ", validation_files,
            ", every: 10}\n"),
        "c.yaml"));
    Trained out;
    TrainCallbacks callbacks;
    callbacks.on_validation = [&](const ValidationReport& report) { out.validations.push_back(report.loss); };
    out.weights = trainer.run(callbacks).weights;
    trainer.save(model(name));
    return out;
  }
  std::string model(const std::string& name) const { return folder_.path(name + ".safetensors"); }

  static std::vector<float> outputs(Predictor predictor) {
    std::vector<float> out;
    while (const RowBlock* batch = predictor.next()) {
      for (int64_t row = 0; row < batch->size(); ++row) {
        const auto values = predictor.output(row);
        out.insert(out.end(), values.begin(), values.end());
      }
    }
    return out;
  }
  std::string error_of_data(const std::string& name, const std::vector<std::string>& data) const {
    try {
      Predictor predictor({.model = model(name), .data = data, .data_place = {"--data"}});
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  TempFolder folder_;
};

TEST_F(ArrayTraining, GivesTheWeightsThatTheSameValuesInCsvGive) {
  const Trained expected = train("csv", csv(), path("test-all.csv"));
  EXPECT_GE(expected.validations.size(), 2u);
  EXPECT_EQ(train("npy", npy(), arrays("test-")), expected);
  EXPECT_EQ(train("npz", npz(), path("test-all.npz")), expected);
}

TEST_F(ArrayTraining, ReadsOtherFilesForEachField) {
  train("csv", csv(), path("test-all.csv"));
  train("npy", npy(), arrays("test-"));
  train("npz", npz(), path("test-all.npz"));
  const std::string x = "features=" + folder_.path("test-x.npy"), y = "label=" + folder_.path("test-y.npy");
  const auto loss = [&](const std::string& name, const std::vector<std::string>& data) {
    Predictor judge({.model = model(name), .data = data, .judge = true});
    while (judge.next() != nullptr) {
    }
    EXPECT_EQ(judge.rows(), 25u);
    return judge.loss();
  };
  const double expected = loss("csv", {folder_.path("test-all.csv")});
  EXPECT_EQ(loss("npy", {x, y}), expected);
  EXPECT_EQ(loss("npy", {y, x}), expected) << "in either order";
  EXPECT_EQ(loss("npz", {folder_.path("test-all.npz")}), expected);
}

TEST_F(ArrayTraining, PredictsWithoutLabels) {
  train("csv", csv(), path("test-all.csv"));
  train("npy", npy(), arrays("test-"));
  train("npz", npz(), path("test-all.npz"));
  const std::string x = "features=" + folder_.path("test-x.npy");
  const std::vector<float> expected =
      outputs(Predictor({.model = model("csv"), .data = {folder_.path("test-all.csv")}}));
  EXPECT_EQ(expected.size(), 75u);
  EXPECT_EQ(outputs(Predictor({.model = model("npy"), .data = {x}})), expected);
  EXPECT_EQ(outputs(Predictor({.model = model("npz"), .data = {folder_.path("test-features.npz")}})), expected);
  // Several files of a field.
  const std::vector<float> twice = outputs(Predictor({.model = model("npy"), .data = {x, x}}));
  EXPECT_EQ(twice.size(), 150u);
}

TEST_F(ArrayTraining, SaysHowTheFilesOfFieldsAreGiven) {
  train("npy", npy(), arrays("test-"));
  train("csv", csv(), path("test-all.csv"));
  const std::string hint = "; the arrays of each field are files of their own: features=x.npy";
  EXPECT_EQ(error_of_data("npy", {"x.npy"}), "--data: expected FIELD=FILE, got \"x.npy\"" + hint);
  EXPECT_EQ(error_of_data("npy", {"=x.npy"}), "--data: expected FIELD=FILE, got \"=x.npy\"" + hint);
  EXPECT_TRUE(error_of_data("npy", {"features=none.npy"}).starts_with("--data: no file matches \"none.npy\""));
  EXPECT_TRUE(error_of_data("csv", {"features=none.csv"}).starts_with("--data: no file matches \"features=none.csv\""));
  EXPECT_THROW(train("csv", csv(), arrays("test-")), ConfigError) << "files for each field where there is one list";
}

}  // namespace
}  // namespace millrace
