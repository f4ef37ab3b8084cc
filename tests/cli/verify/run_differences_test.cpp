#include "millrace/cli/verify/run_differences.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "millrace/trainer/files/model_file.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

std::string write_model(const std::string& path, float value, const ModelMetadata& metadata,
                        const std::string& name = "dense.bias") {
  ModelFile file(path, metadata);
  static_cast<float*>(file.add("dense.weight", {{1}, DType::f32}).data())[0] = 3;
  static_cast<float*>(file.add(name, {{1}, DType::f32}).data())[0] = value;
  file.write();
  return path;
}

TEST(RunDifferences, OfModels) {
  const TempFolder folder;
  const std::string one = write_model(folder.path("a"), 1, {{"config", "threads: 1"}, {"version", "1"}});
  EXPECT_EQ(model_difference(one, write_model(folder.path("b"), 1, {{"config", "threads: 4"}, {"version", "1"}})), "");
  EXPECT_EQ(model_difference(one, write_model(folder.path("c"), 2, {{"config", ""}, {"version", "1"}})),
            "the saved models differ in dense.bias");
  EXPECT_EQ(model_difference(one, write_model(folder.path("d"), 1, {{"config", ""}, {"version", "1"}}, "dense.other")),
            "the saved models differ in dense.bias");
  EXPECT_EQ(model_difference(one, write_model(folder.path("e"), 1, {{"config", ""}, {"version", "2"}})),
            "the saved models differ in what they say of version");
  EXPECT_EQ(model_difference(one, write_model(folder.path("f"), 1, {{"config", ""}, {"version", "1"}, {"z", ""}})),
            "only one of the saved models says something of z");
  EXPECT_THROW(model_difference(one, folder.path("none")), MissingError);
}

TEST(RunDifferences, OfLines) {
  const TempFolder folder;
  const std::string one = folder.write("a", "x\ny\n");
  EXPECT_EQ(line_difference(one, folder.write("b", "x\ny\n"), false), "");
  EXPECT_EQ(line_difference(one, folder.write("c", "x\ny\ny\n"), false),
            "line 3 of a is missing, and \"y\" if the training is killed and resumed");
  EXPECT_EQ(line_difference(one, folder.write("d", "x\n"), false),
            "line 2 of a is \"y\", and missing if the training is killed and resumed");
  EXPECT_EQ(line_difference(one, folder.write("e", "x\ny"), false),
            "line 2 of a is \"y\", and \"the part y\" if the training is killed and resumed");
  EXPECT_NE(line_difference(one, folder.path("none"), false), "");
  EXPECT_EQ(line_difference(folder.path("none"), folder.path("neither"), false), "");
}

TEST(RunDifferences, OfLogsAreOfWhatLasts) {
  const TempFolder folder;
  const std::string step = R"({"v":1,"event":"step","step":1,"loss":2,"rows_per_s":)";
  const std::string resume = "{\"v\":1,\"event\":\"resume\",\"step\":0}\n";
  const std::string one = folder.write("a", step + "5}\n");
  EXPECT_EQ(line_difference(one, folder.write("b", resume + step + "77}\n"), true), "");
  EXPECT_NE(line_difference(one, folder.write("c", step + "77}\n" + step + "78}\n"), true), "");
}

}  // namespace
}  // namespace millrace::cli
