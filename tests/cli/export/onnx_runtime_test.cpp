#include "millrace/cli/export/onnx_runtime.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "millrace/core/errors.h"
#include "tests/cli/export/onnx_python.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

// A program that stands for python3, and what becomes of it.
class OnnxRuntimeTest : public ::testing::Test {
 protected:
  ~OnnxRuntimeTest() override { ::setenv("PATH", before_.c_str(), 1); }

  void stand_in(const std::string& script) {
    folder_.write("python3", "#!/bin/sh\n" + script);
    std::filesystem::permissions(folder_.path("python3"), std::filesystem::perms::owner_all);
    ::setenv("PATH", (folder_.path() + ":" + before_).c_str(), 1);
  }
  std::string load_error() {
    OnnxRuntime runtime("m.onnx");
    try {
      runtime.load();
    } catch (const Error& error) {
      return error.message();
    }
    return {};
  }

  TempFolder folder_;
  const std::string before_ = std::getenv("PATH");
};

TEST_F(OnnxRuntimeTest, SaysWhatIsMissing) {
  ::setenv("PATH", folder_.path().c_str(), 1);
  try {
    const OnnxRuntime runtime("m.onnx");
    FAIL() << "started";
  } catch (const MissingError& error) {
    EXPECT_EQ(error.message(), "--check needs python3: No such file or directory");
    EXPECT_TRUE(error.hint().starts_with("python3 -m pip install onnxruntime, ")) << error.hint();
  }
  stand_in("echo missing No module named >&0\n");
  EXPECT_EQ(load_error(), "--check needs onnxruntime and numpy in python3: No module named");
  stand_in("exit 1\n");
  EXPECT_EQ(load_error(), "--check needs python3, which ended without an answer");
}

TEST_F(OnnxRuntimeTest, PassesOnWhatOnnxruntimeSays) {
  stand_in("echo refused bad file >&0\n");
  EXPECT_EQ(load_error(), "onnxruntime refuses the file: bad file");
  stand_in("echo ready 1.2 >&0; read line; echo row $line >&0; echo failed badly >&0\n");
  OnnxRuntime runtime("m.onnx");
  runtime.load();
  EXPECT_EQ(runtime.version(), "1.2");
  EXPECT_EQ(runtime.run("[1]", 1), std::vector<std::string>{"[1]"});
  EXPECT_THROW(runtime.run("[2]", 1), Error);
}

// Ctrl-C at a terminal reaches a whole group. This program is to end the other one, not to miss it.
TEST_F(OnnxRuntimeTest, HasAProcessGroupOfItsOwn) {
  stand_in("read -r line < /proc/$$/stat; set -- $line; echo refused $(( $5 == $$ )) >&0\n");
  EXPECT_EQ(load_error(), "onnxruntime refuses the file: 1");
}

TEST_F(OnnxRuntimeTest, StopEndsTheWait) {
  stand_in("exec sleep 1000\n");
  OnnxRuntime runtime("m.onnx");
  std::thread stopper([&] { runtime.stop(); });
  EXPECT_THROW(runtime.load(), MissingError);
  stopper.join();
  EXPECT_THROW(runtime.run("[1]", 1), IoError);
}

// The data of another person may lie there.
TEST_F(OnnxRuntimeTest, ImportsNothingFromTheCurrentFolder) {
  if (testing::run_command({"/usr/bin/env", "python3", "-c", ""}).exit_code != 0) GTEST_SKIP() << "no python3";
  for (const char* module : {"json.py", "numpy.py", "onnxruntime.py"}) {
    folder_.write(module, "open('imported', 'w')\n");
  }
  const std::string folder = std::filesystem::current_path().string();
  std::filesystem::current_path(folder_.path());
  EXPECT_NE(load_error(), "");
  std::filesystem::current_path(folder);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("imported")));
}

TEST_F(OnnxRuntimeTest, ARealOneRefusesWhatIsNoModel) {
  if (!use_onnx_python()) GTEST_SKIP() << "python3 has no onnxruntime";
  const std::string file = folder_.write("m.onnx", "no model");
  OnnxRuntime runtime(file);
  EXPECT_THROW(runtime.load(), DataError);
}

}  // namespace
}  // namespace millrace::cli
