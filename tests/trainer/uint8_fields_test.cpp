// Fields of bytes, from the data to the answer: everything comes out as from the same values in float32 and int32.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/predict/network.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

// Images of 8 x 8 pixels from 0 to 255, and one of three classes for each.
class Uint8Fields : public ::testing::Test {
 protected:
  struct Setting {
    std::string ops = {};  // after decode_csv
    std::string after_the_batch = {};
    std::string delivery = "native";
    int threads = 2;
    int capacity = 40;
    std::string more = {};
  };

  Uint8Fields() {
    std::string text;
    for (int row = 0; row < 60; ++row) {
      for (int i = 0; i < 64; ++i) {
        const int pixel = (row * 31 + i * 57) % 100 + (i % 3 == row % 3 ? 156 : 0);
        text += cat(pixel, ',');
        pixels_.push_back(static_cast<float>(pixel));
      }
      text += cat(row % 3, '\n');
    }
    data_ = folder_.write("images.csv", text);
  }

  Trainer trainer(bool bytes, const Setting& setting) const {
    return Trainer::from_spec(parse_yaml(
        cat("seed: 5\ndevice: cpu\nthreads: ", setting.threads, "\ninput:\n  - filename_queue: {files: ",
            quote(data_, 4096), ", epochs: 1}\n  - csv_reader: {chunk_bytes: 1000}\n",
            "  - decode_csv: {fields: {features: {columns: 0-63, reshape: [1, 8, 8], type: ",
            bytes ? "uint8" : "float32", "}, label: {columns: 64, type: ", bytes ? "uint8" : "int32", "}}}\n",
            setting.ops, "  - cache\n  - repeat: {epochs: 3}\n  - shuffle_batch: {batch_size: 8, capacity: ",
            setting.capacity, ", min_after_dequeue: ", setting.capacity - 20, ", allow_smaller_final_batch: true}\n",
            setting.after_the_batch,
            "model:\n  - conv2d: {filters: 3, kernel: 2, activation: relu}\n  - flatten\n  - dense: {units: 3}\n"
            "loss: softmax_cross_entropy\nmetrics: [accuracy]\noptimizer: {adam: {learning_rate: 0.002}}\ndelivery: ",
            setting.delivery, "\nvalidation: {files: ", quote(data_, 4096), ", every: 10}\n", setting.more),
        "images.yaml"));
  }

  struct Trained {
    std::string weights;
    std::vector<double> validations;
    bool operator==(const Trained&) const = default;
  };
  Trained train(bool bytes, const Setting& setting) const {
    Trained out;
    TrainCallbacks callbacks;
    callbacks.on_validation = [&](const ValidationReport& report) { out.validations.push_back(report.loss); };
    out.weights = trainer(bytes, setting).run(callbacks).weights;
    return out;
  }

  std::string model(bool bytes, const Setting& setting) const {
    const std::string path = folder_.path(bytes ? "bytes.safetensors" : "numbers.safetensors");
    Trainer made = trainer(bytes, setting);
    made.run();
    made.save(path);
    return path;
  }

  TempFolder folder_;
  std::string data_;
  std::vector<float> pixels_;
};

constexpr auto kNormalize = "  - normalize: {fields: features, mean: 101.5, std: 77.7}\n";
constexpr auto kAugment = "  - augment: {fields: features, shift: 1, flip: horizontal, crop: [7, 7], noise: 2}\n";

TEST_F(Uint8Fields, TrainAsFloat32) {
  for (const Setting& setting :
       {Setting{}, Setting{.ops = kNormalize}, Setting{.after_the_batch = kNormalize},
        Setting{.after_the_batch = kAugment}, Setting{.ops = kNormalize, .after_the_batch = kAugment},
        Setting{.more = "train: {accumulate: 3, on_nonfinite: skip}\n"}}) {
    SCOPED_TRACE(setting.ops + setting.after_the_batch + setting.more);
    const Trained expected = train(false, setting);
    EXPECT_EQ(expected.validations.size(), 3u);  // 23 steps
    EXPECT_EQ(train(true, setting), expected);
  }
}

TEST_F(Uint8Fields, TrainAlikeWithEveryDeliveryAndNumberOfThreads) {
  const Trained expected = train(false, {});
  for (const char* delivery : {"native", "queue", "staging", "feed"}) {
    for (const int threads : {1, 3}) {
      EXPECT_EQ(train(true, {.delivery = delivery, .threads = threads}), expected) << delivery << ' ' << threads;
    }
  }
}

TEST_F(Uint8Fields, AreNumbersOnlyWhereAnOpMakesThem) {
  const auto rows = [this](const Setting& setting) { return trainer(true, setting).input().output().rows.text(); };
  EXPECT_EQ(rows({}), "features: uint8 (1, 8, 8), label: uint8 (1)");
  EXPECT_EQ(rows({.ops = kNormalize}), "features: float32 (1, 8, 8), label: uint8 (1)");
  EXPECT_EQ(rows({.after_the_batch = kAugment}), "features: float32 (1, 7, 7), label: uint8 (1)");
}

// A row of the window has 192 bytes less, and a batch has a copy more on its way into the model.
TEST_F(Uint8Fields, TakeLessMemoryInBuffers) {
  const auto bound = [this](bool bytes) { return trainer(bytes, {.capacity = 5000}).memory_bound(); };
  EXPECT_LT(bound(true) + 4000 * 192, bound(false));
}

TEST_F(Uint8Fields, PredictAndEvaluateAsFloat32) {
  for (const Setting& setting : {Setting{}, Setting{.ops = kNormalize}, Setting{.after_the_batch = kAugment}}) {
    SCOPED_TRACE(setting.ops + setting.after_the_batch);
    const std::string bytes = model(true, setting), numbers = model(false, setting);
    const auto outputs = [&](const std::string& path) {
      std::vector<float> out;
      Predictor predictor({.model = path, .data = {data_}, .keep = {"64"}});
      while (const RowBlock* batch = predictor.next()) {
        for (int64_t row = 0; row < batch->size(); ++row) {
          for (const float value : predictor.output(row)) out.push_back(value);
          EXPECT_EQ(predictor.kept(row, 0).size(), 1u);
        }
      }
      return out;
    };
    EXPECT_EQ(outputs(bytes).size(), 180u);
    EXPECT_EQ(outputs(bytes), outputs(numbers));
    const auto judged = [&](const std::string& path) {
      Predictor judge({.model = path, .data = {data_}, .judge = true});
      while (judge.next() != nullptr) {
      }
      return std::pair(judge.loss(), judge.metrics());
    };
    EXPECT_EQ(judged(bytes), judged(numbers));
  }
}

TEST_F(Uint8Fields, ANetworkTakesBytesOrTheirNumbers) {
  for (const Setting& setting : {Setting{}, Setting{.ops = kNormalize}}) {
    const Network network = Network::load(model(true, setting)), other = Network::load(model(false, setting));
    EXPECT_EQ(network.fields().text(), "features: uint8 (1, 8, 8)");
    const std::vector<float> expected = other.predict(pixels_);
    EXPECT_EQ(network.predict(pixels_), expected);
    RowBlock rows = network.make_rows(60);
    for (int64_t row = 0; row < 60; ++row) {
      for (int64_t i = 0; i < 64; ++i) {
        rows.row<uint8_t>(0, row)[i] = static_cast<uint8_t>(pixels_[static_cast<size_t>(64 * row + i)]);
      }
    }
    std::vector<float> outputs(expected.size());
    network.predict(rows, outputs);
    EXPECT_EQ(outputs, expected);
    EXPECT_NE(error_of<ShapeError>([&] { other.predict(rows, outputs); }).find("the model reads (features: float32"),
              std::string::npos);
  }
}

TEST_F(Uint8Fields, ANetworkRefusesNumbersThatAreNoBytes) {
  const Network network = Network::load(model(true, {}));
  std::vector<float> two_rows(pixels_.begin(), pixels_.begin() + 128);
  for (const float bad : {0.5F, -1.0F, 255.5F, 256.0F, 1e30F, -INFINITY, NAN}) {
    two_rows[70] = bad;
    EXPECT_EQ(error_of<DataError>([&] { network.predict(two_rows); }),
              cat("row 1: the field features holds ", bad, ", expected a whole number from 0 to 255"));
  }
  two_rows[70] = pixels_[70];
  EXPECT_EQ(network.predict(two_rows).size(), 6u) << "it goes on after errors";
}

}  // namespace
}  // namespace millrace
