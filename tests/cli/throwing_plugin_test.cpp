// What the program says when a plug-in throws: tests/promises/throwing_kinds_test.cpp asks each function, this one some
// of each sort, and those that only one command calls.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"
#include "tests/support/throwing_functions.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::CommandResult;
using ::millrace::testing::kThrowingFunctions;
using ::millrace::testing::run_trainer;
using ::millrace::testing::throwing_records;
using ::millrace::testing::ThrowingFunction;

class ThrowingPluginTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(plugin_)) GTEST_SKIP() << plugin_ << " is not there";
    folder_.write("rows.bin", throwing_records());
    folder_.write("throw.yaml", kYaml);
  }

  CommandResult run(std::vector<std::string> words, std::vector<std::string> environment = {}) {
    words.insert(words.end(), {"--plugin", plugin_});
    return run_trainer(words, {.folder = folder_.path(), .environment = std::move(environment)});
  }
  static std::vector<std::string> throwing(std::string_view function, std::string_view what) {
    return {cat("MILLRACE_TEST_THROWS_IN=", function), cat("MILLRACE_TEST_THROWS=", what)};
  }

  static const ThrowingFunction& find(std::string_view name) {
    for (const ThrowingFunction& one : kThrowingFunctions) {
      if (one.name == name) return one;
    }
    throw std::runtime_error(cat("there is no function ", name));
  }
  // "throw.yaml:5:5" of the line that has the kind.
  static std::string place_of(std::string_view kind) {
    std::istringstream lines(kYaml);
    int64_t number = 1;
    for (std::string line; std::getline(lines, line); ++number) {
      if (const size_t at = line.find(kind); at != line.npos) return cat("throw.yaml:", number, ':');
    }
    return "nowhere";
  }

  static constexpr const char* kYaml =
      "device: cpu\nthreads: 2\n"
      "input:\n"
      "  - throwing_names: {files: rows.bin}\n"
      "  - throwing_records\n"
      "  - throwing_transform\n"
      "  - throwing_buffer\n"
      "  - throwing_batches\n"
      "model:\n"
      "  - throwing_layer\n"
      "  - dense: {units: 1}\n"
      "loss:\n"
      "  throwing_loss\n"
      "metrics:\n"
      "  - throwing_metric\n"
      "optimizer:\n"
      "  throwing_optimizer\n";

  TempFolder folder_;
  const std::string plugin_ = test::plugin("throwing_plugin");
};

TEST_F(ThrowingPluginTest, EndsTheProgramWithNameAndPlace) {
  for (const char* name :
       {"layer.declare", "layer.constructor", "layer.wants", "layer.build", "layer_plan.forward", "loss.label",
        "loss_plan.run", "metric.check", "accumulator.value", "optimizer.decays", "optimizer.update", "names.bind",
        "names.next", "records.read", "records.decode", "transform.apply", "buffer.pull", "batches.fill"}) {
    const ThrowingFunction& function = find(name);
    for (const auto& [what, text] :
         {std::pair("number", "an exception of unknown type"), {"exception", "on purpose"}}) {
      const CommandResult result = run({"train", "throw.yaml"}, throwing(name, what));
      EXPECT_EQ(result.exit_code, 70) << name << ": " << result.signal << result.err;
      EXPECT_NE(result.err.find("error: " + place_of(function.kind)), std::string::npos) << name << ": " << result.err;
      EXPECT_NE(result.err.find(cat(function.kind, ": ", text)), std::string::npos) << name << ": " << result.err;
    }
    const CommandResult own = run({"train", "throw.yaml"}, throwing(name, "error"));
    EXPECT_EQ(own.exit_code, 78) << name << ": " << own.signal << own.err;
    EXPECT_NE(own.err.find("error: " + place_of(function.kind)), std::string::npos) << name << ": " << own.err;
  }
}

TEST_F(ThrowingPluginTest, ThatReturnsNullEndsTheProgramWithNameAndPlace) {
  for (const ThrowingFunction& function : kThrowingFunctions) {
    if (!function.returns_pointer) continue;
    const CommandResult result = run({"train", "throw.yaml"}, throwing(function.name, "null"));
    EXPECT_EQ(result.exit_code, 70) << function.name << ": " << result.signal << result.err;
    EXPECT_NE(result.err.find("error: " + place_of(function.kind)), std::string::npos) << result.err;
  }
}

TEST_F(ThrowingPluginTest, EndsTheOtherCommandsToo) {
  ASSERT_EQ(run({"train", "throw.yaml", "--save", "m.safetensors"}).exit_code, 0);
  const std::vector<std::pair<const char*, std::vector<std::string>>> only = {
      {"metric.label_power", {"evaluate", "--model", "m.safetensors", "rows.bin"}},
      {"transform.undo", {"predict", "--model", "m.safetensors", "rows.bin"}},
      {"buffer.needs_end", {"speed", "throw.yaml"}},
      {"names.check_files", {"check", "throw.yaml"}},
      {"layer.declare", {"layers"}},
      {"transform.declare", {"schema"}},
  };
  for (const auto& [name, words] : only) {
    const CommandResult result = run(words, throwing(name, "number"));
    EXPECT_EQ(result.exit_code, 70) << name << ": " << result.signal << result.err;
    EXPECT_NE(result.err.find(cat(find(name).kind, ": an exception of unknown type")), std::string::npos) << result.err;
  }
}

// The model of the steps that were trained is kept.
TEST_F(ThrowingPluginTest, LeavesTheModelAsTheLastStepLeftIt) {
  const CommandResult result =
      run({"train", "throw.yaml", "--save", "m.safetensors"}, throwing("accumulator.value", "number"));
  EXPECT_EQ(result.exit_code, 70);
  EXPECT_TRUE(std::filesystem::exists(folder_.path("m.safetensors.partial"))) << result.err;
}

}  // namespace
}  // namespace millrace::cli
