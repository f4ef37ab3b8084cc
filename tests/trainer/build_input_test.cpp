#include "millrace/trainer/build_input.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/yaml.h"
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

TEST(BuildInput, BuildsWhatIsThere) {
  const TempFolder folder;
  folder.write("rows.csv", "1\n2\n");
  const Config config = config_in(folder, quote(folder.path("rows.csv"), 4096));
  EXPECT_EQ(build_input(config, Catalog::builtin()).output().batch_size, 1);
}

}  // namespace
}  // namespace millrace
