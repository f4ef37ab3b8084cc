// `trainer check`, from outside.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/sanitized.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;

class CheckCommandTest : public ::testing::Test {
 protected:
  CheckCommandTest() { millrace::testing::write_small_data(folder_); }

  CommandResult run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "check");
    return run_trainer(std::move(arguments), {.folder = folder_.path()});
  }

  TempFolder folder_;
};

TEST_F(CheckCommandTest, SaysWhatWouldBeTrained) {
  const CommandResult result = run({"--config", "small.yaml"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(result.out.starts_with("input: batches of 7 rows, features: float32 (2), label: float32 (1)\nmodel:\n  "))
      << result.out;
  EXPECT_NE(result.out.find("\nmemory: at most "), std::string::npos) << result.out;
  EXPECT_TRUE(result.out.ends_with("\neverything fits; nothing was trained\n")) << result.out;
}

TEST_F(CheckCommandTest, PrintedConfigurationChecksAndTrainsTheSame) {
  const CommandResult printed = run({"small.yaml", "--print"});
  ASSERT_EQ(printed.exit_code, 0) << printed.err;
  folder_.write("resolved.yaml", printed.out);
  const CommandResult again = run({"resolved.yaml", "--print"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, printed.out);
  EXPECT_NE(printed.out.find("log_every: 5"), std::string::npos) << printed.out;
  EXPECT_NE(printed.out.find("chunk_bytes: "), std::string::npos) << "defaults of ops are not there:\n" << printed.out;
  EXPECT_NE(printed.err.find("everything fits"), std::string::npos);
}

TEST_F(CheckCommandTest, PrintShowsOverrides) {
  const CommandResult result =
      run({"small.yaml", "--print", "--set", "input.batch.batch_size=5", "--set", "train.steps=9"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("batch_size: 5"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("steps: 9"), std::string::npos) << result.out;
}

// Two of them are more than there are addresses, so that nothing is taken before it fails.
TEST_F(CheckCommandTest, RowsBeyondMemoryNameTheirKey) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers end the process when memory runs out";
  const CommandResult result = run({"small.yaml", "--set", "input.batch.batch_size=1000000000000"});
  EXPECT_EQ(result.exit_code, 70);
  EXPECT_NE(result.err.find(".batch.batch_size: a batch of 1000000000000 rows: out of memory: "), std::string::npos)
      << result.err;
  EXPECT_TRUE(result.err.ends_with(" bytes on cpu\nhint: lower batch_size\n")) << result.err;
}

TEST_F(CheckCommandTest, JsonIsOneLine) {
  const CommandResult result = run({"small.yaml", "--json", "--print"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json event = nlohmann::json::parse(result.out);
  EXPECT_EQ(event["v"], 1);
  EXPECT_EQ(event["event"], "check");
  EXPECT_EQ(event["batch_size"], 7);
  EXPECT_EQ(event["parameters"], 3 * 2 + 3 + 3 + 1);
  EXPECT_GT(event["memory_bound"], 0);
  EXPECT_EQ(event["config"]["seed"], 23);
}

TEST_F(CheckCommandTest, SaysWhereBytesBecomeNumbers) {
  folder_.write("bytes.csv", "0,255,1\n7,8,0\n");
  const auto input_with = [&](const std::string& ops) {
    folder_.write("bytes.yaml",
                  "input:\n  - filename_queue: {files: bytes.csv}\n  - csv_reader\n  - decode_csv: {fields: {features: "
                  "{columns: 0-1, type: uint8}, label: {columns: 2, type: uint8}}}\n" +
                      ops +
                      "  - batch: {batch_size: 2}\nmodel: [{dense: {units: 1}}]\nloss: sigmoid_cross_entropy\n"
                      "optimizer: {sgd: {learning_rate: 0.1}}\n");
    const CommandResult result = run({"bytes.yaml"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out.substr(0, result.out.find('\n'));
  };
  EXPECT_EQ(input_with(""), "input: batches of 2 rows, features: uint8 (2), label: uint8 (1)");
  EXPECT_EQ(input_with("  - normalize: {fields: features, mean: 128, std: 64}\n"),
            "input: batches of 2 rows, features: float32 (2), label: uint8 (1)");
}

TEST_F(CheckCommandTest, ReadsTheFirstRows) {
  EXPECT_NE(run({"small.yaml"}).out.find("\ndata: the first 7 rows make sense\n"), std::string::npos);
  folder_.write("part-0.csv", "1,2,0\n3,4,7\n");
  CommandResult result = run({"small.yaml"});
  EXPECT_EQ(result.exit_code, 65);
  EXPECT_TRUE(result.err.starts_with("error: part-0.csv:2: ")) << result.err;
  EXPECT_NE(result.err.find("holds 7"), std::string::npos) << result.err;

  folder_.write("part-0.csv", "1,x,0\n3,4,1\n");
  result = run({"small.yaml"});
  EXPECT_EQ(result.exit_code, 65);
  EXPECT_TRUE(result.err.starts_with("error: part-0.csv:1:3: ")) << result.err;
  const std::vector<std::string> lenient = {"small.yaml", "--set", "input.decode_csv.on_bad_row=skip"};
  result = run(lenient);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("\nwarning: part-0.csv:1:3: "), std::string::npos) << result.out;

  for (const char* file : {"part-0.csv", "part-1.csv", "part-2.csv", "part-3.csv"}) folder_.write(file, "");
  result = run({"small.yaml"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("\nwarning: the files have no rows\n"), std::string::npos) << result.out;
}

TEST_F(CheckCommandTest, LeavesFilesOfBadRowsAlone) {
  folder_.write("bad.csv", "kept\n");
  const CommandResult result = run(
      {"small.yaml", "--set", "input.decode_csv.on_bad_row=skip", "--set", "input.decode_csv.bad_rows_file=bad.csv"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(TempFolder::read(folder_.path("bad.csv")), "kept\n");
}

TEST_F(CheckCommandTest, OpensEveryFile) {
  for (const char* file : {"part-0.csv", "part-1.csv", "part-2.csv", "part-3.csv"})
    folder_.write(file, "a,b,y\n1,2,0\n");
  const std::vector<std::string> words = {"small.yaml", "--set", "input.csv_reader.header=true"};
  EXPECT_EQ(run(words).exit_code, 0);
  folder_.write("part-3.csv", "a,b,z\n1,2,0\n");
  const CommandResult result = run(words);
  EXPECT_EQ(result.exit_code, 65);
  EXPECT_TRUE(result.err.starts_with("error: part-3.csv:1:1: the header differs")) << result.err;
}

}  // namespace
}  // namespace millrace::cli
