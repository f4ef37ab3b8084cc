// `trainer export`, from outside.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/export/onnx_python.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::Command;
using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;
using ::millrace::testing::trainer_words;

class ExportCommandTest : public ::testing::Test {
 protected:
  ExportCommandTest() {
    std::string text = "size,color,\"class\",kind\n";
    for (int i = 0; i < 60; ++i) {
      text += std::to_string(i % 7) + ".5," +
              (i % 3 == 0   ? "red"
               : i % 3 == 1 ? ""
                            : "blue") +
              ",1," + (i % 2 == 0 ? "na\xc3\xafve" : "other") + '\n';
    }
    folder_.write("a.csv", text);
    folder_.write(
        "t.yaml",
        "device: cpu\nthreads: 1\ninput:\n  - filename_queue: {files: a.csv}\n  - csv_reader: {header: true}\n"
        "  - decode_csv: {fields: {size: {columns: [size, class]}, color: {columns: color, type: string, "
        "default: none}, kind: {columns: kind, type: string}}}\n"
        "  - vocabulary: {field: color, texts: [red, none], as: code, unknown: code}\n"
        "  - one_hot: {field: code, classes: 3, as: colors}\n"
        "  - vocabulary: {field: kind, texts: [na\xc3\xafve, other], as: label}\n"
        "  - batch: {batch_size: 10}\n"
        "model:\n  - concat: {from: [size, colors]}\n  - dense: {units: 1}\nloss: sigmoid_cross_entropy\n"
        "optimizer: {sgd: {learning_rate: 0.1}}\ntrain: {steps: 6}\n");
    EXPECT_EQ(run({"t.yaml", "--quiet", "--save", "m.safetensors"}).exit_code, 0);
  }

  CommandResult run(std::vector<std::string> arguments) const {
    return run_trainer(std::move(arguments), {.folder = folder_.path()});
  }
  CommandResult export_to(const std::string& onnx, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"export", "--model", "m.safetensors", "--onnx", onnx};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }

  TempFolder folder_;
};

TEST_F(ExportCommandTest, WritesAFileAndSaysWhatIsInIt) {
  const CommandResult result = export_to("m.onnx");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "m.onnx: from size, class and color to class_, name and probability, ONNX opset 17\n");
  const std::string bytes = TempFolder::read(folder_.path("m.onnx"));
  EXPECT_NE(bytes.find("Millrace"), std::string::npos);
  EXPECT_NE(bytes.find("[\"na\xc3\xafve\",\"other\"]"), std::string::npos);
  EXPECT_NE(bytes.find("config_sha256"), std::string::npos);
}

TEST_F(ExportCommandTest, ChecksTheFile) {
  if (!use_onnx_python()) GTEST_SKIP() << "python3 has no onnx and onnxruntime: scripts/onnx-python installs them";
  const CommandResult result = export_to("m.onnx", {"--check", "a.csv"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("\n60 rows compared with onnxruntime "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find(", 0 rows beyond the bound\n"), std::string::npos) << result.out;
  EXPECT_EQ(checker_messages(folder_.path()), "");
}

TEST_F(ExportCommandTest, ARowThatDiffersIsAnError) {
  folder_.write("python3",
                "#!/bin/sh\necho ready 1.2 >&0\nread line\nfor i in 1 2 3 4 5 6 7 8 9 10; do echo row 0.0 x 0.25 >&0; "
                "done\n");
  std::filesystem::permissions(folder_.path("python3"), std::filesystem::perms::owner_all);
  folder_.write("one.csv", "size,color,class\n1,red,1\n");
  const CommandResult result =
      run_trainer({"export", "--model", "m.safetensors", "--onnx", "m.onnx", "--check", "one.csv"},
                  {.folder = folder_.path(), .environment = {"PATH=" + folder_.path() + ":/usr/bin:/bin"}});
  EXPECT_EQ(result.exit_code, 65) << result.err;
  EXPECT_NE(result.err.find("m.onnx: the ONNX file answers 1 row differently, the first: one.csv:2"), std::string::npos)
      << result.err;
}

TEST_F(ExportCommandTest, CtrlCEndsTheWaitForPython) {
  // It waits for the first answer, and later for the answers for a batch.
  for (const char* answer : {"", "echo ready 1.2 >&0\nread line\n"}) {
    folder_.write("python3", std::string("#!/bin/sh\n") + answer + "touch waits\nexec sleep 1000\n");
    std::filesystem::permissions(folder_.path("python3"), std::filesystem::perms::owner_all);
    Command command(trainer_words({"export", "--model", "m.safetensors", "--onnx", "m.onnx", "--check", "a.csv"}),
                    {.folder = folder_.path(), .environment = {"PATH=" + folder_.path() + ":/usr/bin:/bin"}});
    while (!std::filesystem::exists(folder_.path("waits"))) {
      ASSERT_FALSE(command.ends_within(10)) << command.finish().err;
    }
    command.send(SIGINT);
    const CommandResult result = command.finish_unread();
    EXPECT_EQ(result.exit_code, 130);
    EXPECT_EQ(result.err, "");
    std::filesystem::remove(folder_.path("waits"));
  }
}

TEST_F(ExportCommandTest, WithoutPythonTheFileIsWrittenNevertheless) {
  const CommandResult result =
      run_trainer({"export", "--model", "m.safetensors", "--onnx", "m.onnx", "--check", "a.csv"},
                  {.folder = folder_.path(), .environment = {"PATH=/nowhere"}});
  EXPECT_EQ(result.exit_code, 66) << result.out;
  EXPECT_NE(result.err.find("error: --check needs python3: "), std::string::npos) << result.err;
  EXPECT_TRUE(std::filesystem::exists(folder_.path("m.onnx")));
}

TEST_F(ExportCommandTest, ArgumentsThatMakeNoSenseAreErrors) {
  EXPECT_EQ(run({"export", "--model", "m.safetensors"}).exit_code, 2);
  EXPECT_EQ(run({"export", "--onnx", "m.onnx"}).exit_code, 2);
  EXPECT_EQ(export_to("-").exit_code, 2);
  EXPECT_EQ(export_to("m.safetensors").exit_code, 2);
  EXPECT_EQ(export_to("a.csv", {"--check", "a.csv"}).exit_code, 2);
}

}  // namespace
}  // namespace millrace::cli
