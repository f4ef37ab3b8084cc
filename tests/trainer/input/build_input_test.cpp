#include "millrace/trainer/input/build_input.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

Config config_in(const TempFolder& folder, const std::string& files) {
  const std::string path =
      folder.write("c.yaml", cat("input:\n  - filename_queue: {files: ", files, ", epochs: 1}\n  - csv_reader\n",
                                 "  - decode_csv: {fields: {features: {columns: 0}}}\n  - batch: {batch_size: 1}\n"));
  return read_config(read_yaml_file(path), Catalog::builtin(), ConfigUse::input);
}

TEST(BuildInput, SaysWhenTheDataLiesBesideTheConfiguration) {
  const TempFolder folder;
  folder.write("millrace-beside.csv", "1\n");
  try {
    build_input(config_in(folder, "millrace-*.csv"), Catalog::builtin());
    FAIL();
  } catch (const MissingError& error) {
    EXPECT_EQ(error.hint(), cat("paths are relative to the current folder, and ",
                                quote(folder.path("millrace-*.csv"), 4096), " exists: run it from there"));
  }
}

TEST(BuildInput, LeavesOtherHintsAlone) {
  const TempFolder folder;
  try {
    build_input(config_in(folder, "millrace-nowhere-*.csv"), Catalog::builtin());
    FAIL();
  } catch (const MissingError& error) {
    EXPECT_EQ(error.hint().find("exists: run it from there"), std::string::npos);
  }
}

TEST(BuildInput, OpsWriteOverNothingThatIsInUse) {
  const TempFolder folder;
  folder.write("a.csv", "1\n");
  const std::string b = folder.write("b.csv", "x\n");
  const auto built_with = [&](const std::string& bad_rows_file) {
    const std::string path = folder.write(
        "c.yaml", cat("input:\n  - filename_queue: {files: ", quote(folder.path("*.csv"), 4096), "}\n  - csv_reader\n",
                      "  - decode_csv: {fields: {x: {columns: 0}}, on_bad_row: skip, bad_rows_file: ",
                      quote(bad_rows_file, 4096), "}\n  - batch: {batch_size: 1}\n"));
    build_input(read_config(read_yaml_file(path), Catalog::builtin(), ConfigUse::input), Catalog::builtin());
  };
  EXPECT_NO_THROW(built_with(folder.path("bad.jsonl")));
  EXPECT_EQ(error_of<ConfigError>([&] { built_with(folder.path("./b.csv")); }),
            cat(folder.path("c.yaml"), ":2:3: input: writing ", quote(folder.path("./b.csv"), 4096),
                " would overwrite ", quote(b, 4096), ", which this run reads; give it another name"));
  EXPECT_THROW(built_with(folder.path("c.yaml")), ConfigError);
}

TEST(BuildInput, BuildsWhatIsThere) {
  const TempFolder folder;
  folder.write("rows.csv", "1\n2\n");
  const Config config = config_in(folder, quote(folder.path("rows.csv"), 4096));
  EXPECT_EQ(build_input(config, Catalog::builtin()).output().batch_size, 1);
}

}  // namespace
}  // namespace millrace
