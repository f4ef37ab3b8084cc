// 32 descriptors are enough for any number of files, whatever the command.
#include <gtest/gtest.h>

#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::CommandResult;
using ::millrace::testing::trainer_words;

class FewDescriptors : public ::testing::Test {
 protected:
  FewDescriptors() {
    for (int file = 0; file < 200; ++file) {
      std::string text;
      for (int row = 0; row < 10; ++row) text += cat(file, ',', row, ',', (file + row) % 2, '\n');
      folder_.write(cat("f", file, ".csv"), text);
    }
    const auto input = [](std::string_view epochs, std::string_view batch) {
      return cat("[{filename_queue: {files: \"f*.csv\", epochs: ", epochs,
                 "}}, {csv_reader: {chunk_bytes: 20}}, {decode_csv: {fields: {features: {columns: 0-1}, label: "
                 "{columns: 2}}}}, ",
                 batch, "]\n");
    };
    folder_.write("c.yaml",
                  cat("device: cpu\nthreads: 8\ninput: ",
                      input("2", "{shuffle_batch: {batch_size: 20, min_after_dequeue: 500, threads: 8}}"),
                      "model: [{dense: {units: 1}}]\nloss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: "
                      "0.001}}\nvalidation:\n  every: 50\n  input: ",
                      input("1", "{batch: {batch_size: 20}}"), "save: m.safetensors\n"));
  }

  void expect_done(std::vector<std::string> words) const {
    std::vector<std::string> limited = {"/bin/bash", "-c", "ulimit -n 32 && exec \"$@\"", "few"};
    for (std::string& word : trainer_words(std::move(words))) limited.push_back(std::move(word));
    const CommandResult result = millrace::testing::run_command(limited, {.folder = folder_.path()});
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }

  const TempFolder folder_;
};

TEST_F(FewDescriptors, AreEnoughForManyFiles) {
  expect_done({"c.yaml", "--json", "--trace", "t.json"});
  expect_done({"c.yaml", "--set", "threads=32", "--set", "input.shuffle_batch.threads=32"});
  expect_done({"check", "c.yaml", "--json"});
  expect_done({"input", "c.yaml", "--json", "--out", "b.jsonl"});
  expect_done({"input", "c.yaml", "--set", "input.csv_reader.readers=20", "--format", "none"});
  expect_done({"evaluate", "--model", "m.safetensors", "--data", "f*.csv"});
  expect_done({"predict", "--model", "m.safetensors", "--data", "f*.csv", "--out", "p.csv"});
}

}  // namespace
}  // namespace millrace::cli
