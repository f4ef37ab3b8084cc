// Folders of pictures, from outside: a training, its check, an evaluation, and predictions with the names of classes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "millrace/core/text.h"
#include "tests/input/pictures/pictures.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

#ifdef MILLRACE_HAS_PNG

using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class PicturesCommandTest : public ::testing::Test {
 protected:
  PicturesCommandTest() {
    for (int i = 0; i < 8; ++i) {
      write(cat("train/night/", i, ".png"), static_cast<uint8_t>(5 * i));
      write(cat("train/day/", i, ".png"), static_cast<uint8_t>(255 - 5 * i));
    }
    write("new/a.png", 20);
    write("new/b.png", 240);
    folder_.write("pictures.yaml",
                  "seed: 3\ndevice: cpu\ninput:\n- image_folder: {dir: train, epochs: 20}\n"
                  "- decode_image: {size: [1, 2, 2]}\n- normalize: {fields: image, mean: 127, std: 64}\n"
                  "- shuffle_batch: {batch_size: 4, capacity: 40, min_after_dequeue: 8}\n"
                  "model:\n- flatten: {from: image}\n- dense: {units: 2}\nloss: softmax_cross_entropy\n"
                  "metrics: [accuracy]\noptimizer: {sgd: {learning_rate: 0.1}}\n");
  }
  void write(const std::string& name, uint8_t value) {
    std::filesystem::create_directories(std::filesystem::path(folder_.path(name)).parent_path());
    folder_.write(name, testing_support::png_of({3, 3, 1, std::vector<uint8_t>(9, value)}));
  }
  CommandResult run(const std::vector<std::string>& words) { return run_trainer(words, {.folder = folder_.path()}); }
  void train() {
    const CommandResult trained = run({"pictures.yaml", "--quiet", "--save", "m.safetensors"});
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
  }
  TempFolder folder_;
};

TEST_F(PicturesCommandTest, PredictsWithTheNamesOfTheClasses) {
  train();
  const CommandResult predicted = run({"predict", "--model", "m.safetensors", "--data", "new/*.png"});
  ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
  EXPECT_THAT(predicted.out, StartsWith("row,class,name,probability_0,probability_1\nnew/a.png,1,night,"));
  EXPECT_THAT(predicted.out, HasSubstr("\nnew/b.png,0,day,"));
  const CommandResult judged = run({"evaluate", "--model", "m.safetensors", "--data", "train"});
  EXPECT_EQ(judged.exit_code, 0) << judged.err;
  EXPECT_THAT(judged.out, HasSubstr("accuracy 1"));
}

TEST_F(PicturesCommandTest, GoesOnAfterABadPicture) {
  train();
  folder_.write("new/a1.png", "no picture");
  const CommandResult failed = run({"predict", "--model", "m.safetensors", "--data", "new"});
  EXPECT_EQ(failed.exit_code, 65);
  EXPECT_EQ(failed.err,
            "error: new/a1.png: expected a JPEG or PNG picture, got another file\n"
            "hint: --bad-rows blank or skip goes on after a bad row\n");
  const CommandResult skipped =
      run({"predict", "--model", "m.safetensors", "--data", "new", "--bad-rows", "skip", "--format", "jsonl"});
  EXPECT_EQ(skipped.exit_code, 0);
  EXPECT_THAT(skipped.out, HasSubstr("\"row\":\"new/b.png\""));
  EXPECT_THAT(skipped.err,
              HasSubstr("1 of 3 rows is bad: new/a1.png: expected a JPEG or PNG picture, got another file"));
}

TEST_F(PicturesCommandTest, RefusesAHugeFileBeforeItIsRead) {
  const std::string huge = folder_.write("train/day/huge.jpg", "");
  std::filesystem::resize_file(huge, uint64_t{5} << 30);  // a hole
  const CommandResult result = run({"pictures.yaml", "--quiet"});
  EXPECT_EQ(result.exit_code, 65);
  EXPECT_EQ(result.err, "error: train/day/huge.jpg: the file has 5368709120 bytes, a picture at most 1073741824\n");
}

TEST_F(PicturesCommandTest, ChecksAndPrintsWhatItFound) {
  const CommandResult checked = run({"check", "--config", "pictures.yaml", "--print"});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("classes: [day, night]"));
  const CommandResult absent = run({"check", "--config", "pictures.yaml", "--set", "input.image_folder.dir=trian"});
  EXPECT_EQ(absent.exit_code, 66);
  EXPECT_THAT(absent.err, HasSubstr("did you mean train?"));
  const CommandResult rows = run({"input", "--config", "pictures.yaml", "--batches", "1"});
  EXPECT_EQ(rows.exit_code, 0) << rows.err;
  EXPECT_THAT(rows.out, HasSubstr("\"image\":[[[["));
  EXPECT_THAT(rows.out, HasSubstr(".png\""));
}

#else

TEST(PicturesCommand, IsLeftOut) { GTEST_SKIP() << "libpng is not in this build"; }

#endif

}  // namespace
}  // namespace millrace::cli
