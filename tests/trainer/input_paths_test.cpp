#include "millrace/trainer/input_paths.h"

#include <gtest/gtest.h>

#include "millrace/core/text.h"
#include "millrace/trainer/yaml.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

Spec input_of(const std::string& yaml) { return parse_yaml(yaml, "c.yaml"); }

TEST(InputPathsTest, FindsPathsWhereverAnOpHasThem) {
  const Spec input = input_of(
      "- filename_queue: {files: [a.csv, \"b*.csv\"], name: x}\n- filename_queue: {files: c.csv}\n- csv_reader\n"
      "- other: {file: d.bin}\n");
  EXPECT_EQ(input_patterns(input), (std::vector<std::string>{"a.csv", "b*.csv", "c.csv", "d.bin"}));
  EXPECT_EQ(input_patterns(Spec()), std::vector<std::string>());
}

TEST(InputPathsTest, SaysWhatLiesBesideTheConfiguration) {
  const TempFolder folder;
  folder.write("only-here-17.csv", "1\n");
  const Spec input = input_of("- filename_queue: {files: [\"only-here-*.csv\"]}");
  EXPECT_EQ(hint_beside_config(input, folder.path("c.yaml")),
            cat("paths are relative to the current folder; beside the configuration there is ",
                folder.path("only-here-17.csv")));
}

TEST(InputPathsTest, SaysNothingWhereItWouldNotHelp) {
  const TempFolder folder;
  const std::string file = folder.write("only-here-17.csv", "1\n");
  EXPECT_EQ(hint_beside_config(input_of("- filename_queue: {files: nowhere-17.csv}"), folder.path("c.yaml")), "");
  EXPECT_EQ(hint_beside_config(input_of("- filename_queue: {files: only-here-17.csv}"), "c.yaml"), "");
  EXPECT_EQ(hint_beside_config(input_of("- filename_queue: {files: \"" + file + "\"}"), folder.path("c.yaml")), "");
}

}  // namespace
}  // namespace millrace
