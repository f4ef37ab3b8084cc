// What is too much for the machine, or for whoever reads a message, ends soon, in little memory and in few words.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>

#include "millrace/core/text.h"
#include "tests/support/sanitized.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::CommandResult;
using ::millrace::testing::run_command;
using ::millrace::testing::trainer_words;

class Limits : public ::testing::Test {
 protected:
  Limits() {
    folder_.write("rows.csv", "1,2,0\n3,4,1\n");
    folder_.write("c.yaml",
                  "device: cpu\nthreads: 2\ninput:\n  - filename_queue: {files: rows.csv, epochs: 1}\n  - csv_reader\n"
                  "  - decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2}}}\n"
                  "  - batch: {batch_size: 2}\nmodel: [{dense: {units: 64, activation: relu}}, {dense: {units: 1}}]\n"
                  "loss: sigmoid_cross_entropy\noptimizer: {adam: {learning_rate: 0.1}}\n");
  }

  CommandResult run(std::vector<std::string> words) const {
    return run_command(trainer_words(std::move(words)), {.folder = folder_.path()});
  }
  // The most memory that a program took which this process ran, in bytes.
  static uint64_t peak() {
    rusage usage{};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    return static_cast<uint64_t>(usage.ru_maxrss) << 10;
  }

  const TempFolder folder_;
};

TEST_F(Limits, ThreadsThatTheSystemRefusesAreItsError) {
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer needs the address space";
  std::vector<std::string> words = {"/bin/bash", "-c", "ulimit -s 8192; ulimit -v 4000000 && exec \"$@\"", "limited"};
  for (std::string& word : trainer_words({"c.yaml", "--set", "threads=4096"})) words.push_back(std::move(word));
  const CommandResult result = run_command(words, {.folder = folder_.path()});
  EXPECT_EQ(result.exit_code, 74);
  EXPECT_EQ(result.err, "error: could not start 4096 threads: Resource temporarily unavailable\nhint: lower threads\n");
}

TEST_F(Limits, ACheckTakesNoMemoryForLargeBatches) {
  if (test::kSanitized) GTEST_SKIP();
  ASSERT_EQ(run({"check", "c.yaml"}).exit_code, 0);
  const uint64_t before = peak();
  // Where the system refuses what a training would take, this is an error; it takes no memory, either.
  const std::string large = "input.batch.batch_size=",
                    warning = "warning: a training may take more memory than there is, ";
  const CommandResult result = run({"check", "c.yaml", "--set", large + "16777216"});
  EXPECT_TRUE(result.exit_code == 0 || result.err.find("out of memory") != std::string::npos) << result.err;
  const CommandResult larger = run({"check", "c.yaml", "--set", large + "1000000000"});
  EXPECT_TRUE(larger.out.find(warning) != std::string::npos || larger.err.find("out of memory") != std::string::npos)
      << larger.out << larger.err;
  EXPECT_EQ(run({"check", "c.yaml"}).out.find(warning), std::string::npos);
  EXPECT_LT(peak(), before + (uint64_t{200} << 20));
}

TEST_F(Limits, ThousandsOfOpsAndLayersAreReadAtOnce) {
  std::string config = "input:\n  - synthetic: {features: 2, rows: 4}\n";
  for (int i = 0; i < 30000; ++i) config += "  - queue\n";
  config += "  - batch: {batch_size: 2}\n";
  folder_.write("ops.yaml", config);
  const auto start = std::chrono::steady_clock::now();  // minutes where each name was found from the first on
  EXPECT_EQ(run({"input", "ops.yaml", "--format", "none"}).exit_code, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(test::kSanitized ? 200 : 20));
}

TEST_F(Limits, MessagesDoNotRepeatLongTexts) {
  const std::string text(100000, 'x');
  const std::vector<std::vector<std::string>> commands = {
      {text},
      {"--" + text},
      {"-" + text},
      {"help", text},
      {"check", text},
      {"check", text, text},
      {"check", "--config", text + ".yaml"},
      {"check", "c.yaml", "--plugin", text},
      {"check", "c.yaml", "--set", text},
      {"check", "c.yaml", "--set", text + "=1"},
      {"check", "c.yaml", "--set", "loss=" + text},
      {"check", "c.yaml", "--set", "loss." + text + "=1"},
      {"check", "c.yaml", "--set", "model.dense." + text + "=1"},
      {"check", "c.yaml", "--set", "model.dense.units=" + text},
      {"check", "c.yaml", "--set", "model.dense.activation=" + text},
      {"check", "c.yaml", "--set", "model={" + text + ": {}}"},
      {"check", "c.yaml", "--set", "model=[" + text + "]"},
      {"check", "c.yaml", "--set", "model=[{dense: {units: 1, name: " + text + "}}, {dense: {units: 1, name: b}}]"},
      {"check", "c.yaml", "--set", "model=[{dense: {units: 1, from: " + text + "}}]"},
      {"check", "c.yaml", "--set", "metrics=" + text},
      {"check", "c.yaml", "--set", "optimizer=" + text},
      {"check", "c.yaml", "--set", "delivery=" + text},
      {"check", "c.yaml", "--set", "device=" + text},
      {"check", "c.yaml", "--set", "train.on_nonfinite=" + text},
      {"check", "c.yaml", "--set", "load=" + text},
      {"check", "c.yaml", "--set", "save=" + text},
      {"check", "c.yaml", "--set", "input.filename_queue.files=" + text},
      {"check", "c.yaml", "--set", "input.filename_queue.files=" + std::string(4000, 'y') + "/z"},
      {"check", "c.yaml", "--set", "input.csv_reader.delimiter=" + text},
      {"check", "c.yaml", "--set", "input.decode_csv.fields={" + std::string(250, 'f') + ": {columns: 9}}"},
      {"check", "c.yaml", "--set", "input.decode_csv.fields={f: {columns: " + text + "}}"},
      {"check", "c.yaml", "--set", "input.batch.from=" + text},
      {"check", "c.yaml", "--set", "input.batch.name=" + text},
      {"check", "c.yaml", "--set", "validation=" + text},
      {"train", "c.yaml", "--save", text},
      {"train", "c.yaml", "--trace", text},
      {"input", "c.yaml", "--out", text},
      {"input", "c.yaml", "--format", text},
      {"evaluate", "--model", text, "--data", text},
      {"predict", "--model", text, "--data", text},
      {"init", text},
      {"init", "rows.csv", "--label", text},
      {"init", "rows.csv", "--label", "2", "--keep", text},
      {"init", "rows.csv", "--label", "2", "--out", text},
      {"init", "rows.csv", "--label", "2", "--delimiter", text},
      {"config", text},
      {"layers", text},
      {"generate", text},
  };
  for (const std::vector<std::string>& words : commands) {
    const CommandResult result = run(words);
    std::string shown;
    for (const std::string& word : words) shown += shortened(word) + ' ';
    EXPECT_NE(result.exit_code, 0) << shown;
    EXPECT_EQ(result.signal, 0) << shown;
    EXPECT_LT(result.out.size() + result.err.size(), 5000u) << shown << ": " << shortened(result.err, 1000);
  }
}

}  // namespace
}  // namespace millrace::cli
