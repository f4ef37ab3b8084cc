// Whatever the limit of the address space: the program says that there is not enough, or does its work. No signal ends
// it, such as SIGSEGV in a library that did not look whether it got memory.
#include <gtest/gtest.h>

#include "millrace/core/text.h"
#include "tests/support/sanitized.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::CommandResult;
using ::millrace::testing::trainer_words;
using ::millrace::testing::write_small_data;

class LittleMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test::kSanitized) GTEST_SKIP() << "sanitizers reserve most of the address space";
    write_small_data(folder_);
    folder_.write("image.yaml",
                  "device: cpu\nthreads: 2\ninput: [{synthetic: {features: 192, rows: 40}}, {batch: {batch_size: 8}}]\n"
                  "model: [{reshape: [3, 8, 8]}, {conv2d: {filters: 8, kernel: 3}}, flatten, {dense: {units: 1}}]\n"
                  "loss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.1}}\n");
  }

  CommandResult run(int64_t kilobytes, std::vector<std::string> words) const {
    std::vector<std::string> limited = {"/bin/bash", "-c", cat("ulimit -v ", kilobytes, " && exec \"$@\""), "little"};
    for (std::string& word : trainer_words(std::move(words))) limited.push_back(std::move(word));
    return millrace::testing::run_command(limited, {.folder = folder_.path()});
  }

  // Tries every limit under which the program begins, up to one under which it does its work.
  void expect_no_signal(const std::vector<std::string>& words) const {
    constexpr int64_t kStep = 1500, kEnough = 2 << 20;
    int refused = 0;
    for (int64_t kilobytes = 20000; kilobytes < kEnough; kilobytes += kStep) {
      const CommandResult result = run(kilobytes, words);
      // CUDA's runtime looks for memory before main(), and ends without it.
      if (result.signal != 0 && run(kilobytes, {"--version"}).signal != 0) continue;
      ASSERT_EQ(result.signal, 0) << kilobytes << ": " << result.err;
      // The loader found no room for the libraries, or OpenMP's runtime none for itself.
      const bool began = result.exit_code != 127 && result.err.find("libgomp:") == result.err.npos;
      if (!began) continue;
      if (result.exit_code == 0) break;
      ++refused;
      EXPECT_TRUE(result.exit_code == 70 || result.exit_code == 74) << kilobytes << ": " << result.err;
    }
    EXPECT_GT(refused, 0);
  }

  TempFolder folder_;
};

TEST_F(LittleMemory, IsToldInATraining) { expect_no_signal({"train", "small.yaml", "--quiet"}); }

TEST_F(LittleMemory, IsToldInATrainingOnImages) { expect_no_signal({"train", "image.yaml", "--quiet"}); }

TEST_F(LittleMemory, IsToldInAPrediction) {
  ASSERT_EQ(run(2 << 20, {"train", "small.yaml", "--save", "m.safetensors"}).exit_code, 0);
  expect_no_signal({"predict", "--model", "m.safetensors", "part-0.csv"});
}

}  // namespace
}  // namespace millrace::cli
