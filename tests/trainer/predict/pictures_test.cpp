// Trainings on folders of pictures: the names of the classes go with the model, to whoever judges or uses it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/trainer/files/model_file.h"
#include "millrace/trainer/files/saved_model.h"
#include "millrace/trainer/predict/network.h"
#include "millrace/trainer/trainer.h"
#include "tests/input/pictures/pictures.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

#ifdef MILLRACE_HAS_PNG

using testing_support::Pixels;
using testing_support::png_of;
using testing_support::random_picture;

// Dark and light pictures, each class in a folder.
class PicturesTest : public ::testing::Test {
 protected:
  PicturesTest() {
    for (int i = 0; i < 12; ++i) {
      write(cat("train/dark/", i, ".png"), false, i);
      write(cat("train/light/", i, ".png"), true, i);
    }
  }
  void write(const std::string& name, bool light, int seed) {
    Pixels pixels = random_picture(9, 8, 3, static_cast<uint64_t>(seed));
    for (uint8_t& value : pixels.values) value = static_cast<uint8_t>(value / 4 + (light ? 180 : 0));
    std::filesystem::create_directories(std::filesystem::path(folder_.path(name)).parent_path());
    folder_.write(name, png_of(pixels));
  }
  std::string config(const std::string& more = {}) const {
    return cat(
        "seed: 3\ndevice: cpu\nthreads: 2\ninput:\n- image_folder: {dir: ", quote(folder_.path("train"), 4096),
        ", epochs: 12}\n- decode_image: {size: [1, 4, 4]}\n- normalize: {fields: image, mean: 127, std: 64}\n",
        "- shuffle_batch: {batch_size: 4, capacity: 40, min_after_dequeue: 8}\nmodel:\n- flatten: {from: image}\n",
        "- dense: {units: 2}\nloss: softmax_cross_entropy\nmetrics: [accuracy]\n",
        "optimizer: {sgd: {learning_rate: 0.1}}\n", more);
  }
  Trainer train(const std::string& more = {}) {
    Trainer trainer = Trainer::from_string(config(more), "t.yaml");
    trainer.run({.on_validation = [this](const ValidationReport& report) { validations_.push_back(report); }});
    trainer.save(model_);
    return trainer;
  }
  // The class that the model gives to each row, by its text; the error of the last row.
  std::vector<std::string> predicted(const PredictorArgs& args) {
    Predictor predictor(args);
    std::vector<std::string> out;
    while (const RowBlock* batch = predictor.next()) {
      for (int64_t row = 0; row < batch->size(); ++row) {
        if (!predictor.error(row).empty()) {
          out.emplace_back(predictor.error(row));
          continue;
        }
        const auto output = predictor.output(row);
        out.push_back(predictor.label().texts.at(output[0] > output[1] ? 0 : 1));
      }
    }
    return out;
  }

  TempFolder folder_;
  std::string model_ = folder_.path("m.safetensors");
  std::vector<ValidationReport> validations_;
};

TEST_F(PicturesTest, TheModelKnowsTheNamesOfItsClasses) {
  train();
  const Spec config = saved_config(ModelFile::read(model_));
  const Spec* classes = config.find("input")->items()[0].find("image_folder")->find("classes");
  ASSERT_NE(classes, nullptr);
  EXPECT_EQ(OptionType<std::vector<std::string>>::read(*classes), (std::vector<std::string>{"dark", "light"}));
}

TEST_F(PicturesTest, PredictsPicturesThatLieInNoClass) {
  train();
  std::filesystem::remove_all(folder_.path("train"));
  write("new/a.png", true, 100);
  write("new/b.png", false, 101);
  const std::vector<std::string> expected = {"light", "dark"};
  EXPECT_EQ(predicted({.model = model_, .data = {folder_.path("new/*.png")}}), expected);
  EXPECT_EQ(predicted({.model = model_, .data = {folder_.path("new")}}), expected);
  folder_.write("new/a0.png", "");
  EXPECT_EQ(predicted({.model = model_, .data = {folder_.path("new")}, .bad_rows_stay = true}),
            (std::vector<std::string>{"light", "the file is empty", "dark"}));
  EXPECT_EQ(error_of<DataError>([&] { predicted({.model = model_, .data = {folder_.path("new")}}); }),
            folder_.path("new/a0.png") + ": the file is empty");
}

// Another folder has a class less, and its numbers would be others.
TEST_F(PicturesTest, AValidationCountsTheClassesAsTheTrainingDoes) {
  for (int i = 0; i < 5; ++i) write(cat("val/light/", i, ".png"), true, 200 + i);
  const std::string folder = quote(folder_.path("val"), 4096);
  for (const std::string& more :
       {cat("validation: {files: ", folder, "}\n"),
        cat("validation: {input: [image_folder: {dir: ", folder,
            ", epochs: 1}, decode_image: {size: [1, 4, 4]}, normalize: {fields: image, mean: 127, std: 64}, "
            "batch: {batch_size: 4}]}\n")}) {
    SCOPED_TRACE(more);
    validations_.clear();
    train(more);
    ASSERT_FALSE(validations_.empty());
    EXPECT_EQ(validations_.back().rows, 5u);
    ASSERT_EQ(validations_.back().metrics.size(), 1u);
    EXPECT_EQ(validations_.back().metrics[0].second, 1);
  }
  Predictor judge({.model = model_, .data = {folder_.path("val")}, .judge = true});
  while (judge.next() != nullptr) {
  }
  EXPECT_EQ(judge.rows(), 5u);
  EXPECT_EQ(judge.metrics()[0].second, 1);
}

TEST_F(PicturesTest, AClassThatTheTrainingHasNotIsAnError) {
  train();
  write("val/grey/1.png", true, 1);
  const std::string folder = folder_.path("val");
  const std::string wrong = cat("the folder \"grey\" in ", folder, " is none of the classes dark and light");
  EXPECT_NE(error_of<DataError>([&] { train(cat("validation: {files: ", quote(folder, 4096), "}\n")); }).find(wrong),
            std::string::npos);
  EXPECT_NE(error_of<DataError>([&] { predicted({.model = model_, .data = {folder}, .judge = true}); }).find(wrong),
            std::string::npos);
  // A judgement needs a class for each picture.
  const std::string error =
      error_of<DataError>([&] { predicted({.model = model_, .data = {folder_.path("val/grey/*")}, .judge = true}); });
  EXPECT_NE(error.find("1.png: the field label holds -1, expected at least 0 and at most 1"), std::string::npos)
      << error;
  EXPECT_NE(error.find("without a class (-1) a row can only be predicted"), std::string::npos) << error;
}

TEST_F(PicturesTest, ANetworkTakesTheBytesOfFiles) {
  train();
  const Network network = Network::load(model_);
  EXPECT_EQ(network.classes(), (std::vector<std::string>{"dark", "light"}));
  EXPECT_EQ(network.fields().text(), "image: string (1)");
  RowBlock rows = network.make_rows(3);
  for (int64_t row = 0; row < 3; ++row) {
    rows.set_text(0, row, TempFolder::read(folder_.path(row == 1 ? "train/light/7.png" : "train/dark/7.png")));
  }
  std::vector<float> outputs(6);
  network.predict(rows, outputs);
  EXPECT_GT(outputs[0], outputs[1]);
  EXPECT_LT(outputs[2], outputs[3]);
  EXPECT_EQ(outputs[4], outputs[0]);
  rows.set_text(0, 2, "text");
  EXPECT_EQ(error_of<DataError>([&] { network.predict(rows, outputs); }),
            "row 2: expected a JPEG or PNG picture, got another file");
}

#else

TEST(Pictures, AreLeftOut) { GTEST_SKIP() << "libpng is not in this build"; }

#endif

}  // namespace
}  // namespace millrace
