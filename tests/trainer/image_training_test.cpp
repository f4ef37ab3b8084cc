// Images from CSV to a convolution: trained on with changes, judged and predicted on without.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/predict/network.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

// Images of 4 x 4 pixels: bright columns or bright lines, which the label tells.
class ImageTraining : public ::testing::Test {
 protected:
  struct Setting {
    std::string augment = "shift: 1, flip: both, crop: [3, 3], noise: 0.25";
    int threads = 2;
    int chunk_bytes = 100;
    std::string delivery = "native";
    std::string more = {};
  };

  ImageTraining() {
    std::string whole, middle;
    for (int row = 0; row < 40; ++row) {
      const bool lines = row % 2 == 0;
      for (int i = 0; i < 16; ++i) {
        const bool bright = (lines ? i / 4 : i % 4) % 2 == row / 2 % 2;
        const std::string value = cat(bright ? 4 + row % 3 : i % 3, ',');
        whole += value;
        if (i / 4 < 3 && i % 4 < 3) middle += value;  // where a window of 3 x 3 is in the middle
      }
      whole += cat(lines ? 1 : 0, '\n');
      middle += cat(lines ? 1 : 0, '\n');
    }
    data_ = folder_.write("images.csv", whole);
    middle_ = folder_.write("middle.csv", middle);
  }

  Trainer trainer(const Setting& setting) const {
    return Trainer::from_spec(parse_yaml(
        cat("seed: 5\ndevice: cpu\nthreads: ", setting.threads, "\ninput:\n  - filename_queue: {files: ",
            quote(data_, 4096), ", epochs: 4}\n  - csv_reader: {chunk_bytes: ", setting.chunk_bytes,
            "}\n  - decode_csv: {fields: {features: {columns: 0-15, reshape: [1, 4, 4]}, label: {columns: 16}}}\n"
            "  - normalize: {fields: features, mean: 3, std: 2}\n  - augment: {fields: features, ",
            setting.augment, "}\n  - shuffle_batch: {batch_size: 8, capacity: 30, min_after_dequeue: 16}\n",
            "model:\n  - conv2d: {filters: 3, kernel: 2, activation: relu}\n  - flatten\n  - dense: {units: 1}\n"
            "loss: sigmoid_cross_entropy\nmetrics: [accuracy]\noptimizer: {adam: {learning_rate: 0.02}}\ndelivery: ",
            setting.delivery, "\n", setting.more),
        "images.yaml"));
  }

  // A hash of them.
  std::string weights(const Setting& setting) const { return trainer(setting).run().weights; }

  static std::vector<float> outputs(Predictor predictor) {
    std::vector<float> out;
    while (const RowBlock* batch = predictor.next()) {
      for (int64_t row = 0; row < batch->size(); ++row) out.push_back(predictor.output(row)[0]);
    }
    return out;
  }

  TempFolder folder_;
  std::string data_, middle_, model_ = folder_.path("m.safetensors");
};

TEST_F(ImageTraining, TheWeightsAreThoseOfTheSeedAlone) {
  const std::string expected = weights({});
  for (const int threads : {1, 3}) EXPECT_EQ(weights({.threads = threads}), expected) << threads;
  for (const char* delivery : {"queue", "feed"}) EXPECT_EQ(weights({.delivery = delivery}), expected) << delivery;
  EXPECT_EQ(weights({.chunk_bytes = 1 << 20}), expected);
  EXPECT_NE(weights({.augment = "crop: [3, 3], random: false"}), expected);
}

// The model reads windows of 3 x 3; a file of those that are in the middle says what it must see.
TEST_F(ImageTraining, PredictsAndJudgesWhatIsInTheMiddle) {
  Trainer made = trainer({});
  made.run();
  made.save(model_);
  const std::vector<float> predicted = outputs(Predictor({.model = model_, .data = {data_}}));
  ASSERT_EQ(predicted.size(), 40u);
  EXPECT_EQ(outputs(Predictor({.model = model_, .data = {data_}, .overrides = {"seed=77"}})), predicted);
  const std::string plain =
      "input=[{filename_queue: {files: x}}, csv_reader, {decode_csv: {fields: {features: {columns: 0-8, reshape: [1, "
      "3, 3]}, label: {columns: 9}}}}, {normalize: {fields: features, mean: 3, std: 2}}, {batch: {batch_size: 8}}]";
  EXPECT_EQ(outputs(Predictor({.model = model_, .data = {middle_}, .overrides = {plain}})), predicted);

  Predictor whole({.model = model_, .data = {data_}, .judge = true});
  Predictor window({.model = model_, .data = {middle_}, .overrides = {plain}, .judge = true});
  while (whole.next() != nullptr) ASSERT_NE(window.next(), nullptr);
  EXPECT_EQ(whole.rows(), 40u);
  EXPECT_EQ(whole.loss(), window.loss());
}

TEST_F(ImageTraining, AValidationJudgesAsAnEvaluationDoes) {
  Trainer made = trainer({.more = cat("validation: {files: ", quote(data_, 4096), ", every: 10}\n")});
  std::vector<double> losses;
  TrainCallbacks callbacks;
  callbacks.on_validation = [&](const ValidationReport& report) { losses.push_back(report.loss); };
  EXPECT_EQ(made.run(callbacks).steps, 20);
  ASSERT_EQ(losses.size(), 2u);
  made.save(model_);
  Predictor judge({.model = model_, .data = {data_}, .judge = true});
  while (judge.next() != nullptr) {
  }
  EXPECT_EQ(judge.loss(), losses.back());
}

}  // namespace
}  // namespace millrace
