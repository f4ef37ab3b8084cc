#include "millrace/trainer/cli/input_files.h"

#include <gtest/gtest.h>

#include "millrace/core/text.h"
#include "millrace/trainer/cli/usage_error.h"
#include "millrace/trainer/yaml.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

TEST(InputFilesTest, RefusesFilesThatAreRead) {
  const TempFolder folder;
  const std::string data = folder.write("a.csv", "1\n"), config = folder.write("c.yaml", "");
  std::filesystem::create_symlink("a.csv", folder.path("link.csv"));
  const Spec input =
      parse_yaml("- filename_queue: {files: [\"" + folder.path("*.csv") + "\"]}\n- csv_reader\n", "c.yaml");
  EXPECT_EQ(error_of<UsageError>([&] { check_not_an_input(data, input, config); }),
            cat("--out ", quote(data, 4096), " would overwrite ", quote(data, 4096),
                ", which this run reads; give it another name"));
  EXPECT_THROW(check_not_an_input(folder.path("link.csv"), input, config), UsageError);
  EXPECT_THROW(check_not_an_input(folder.path("./a.csv"), input, config), UsageError);
  EXPECT_THROW(check_not_an_input(config, input, config), UsageError);
}

TEST(InputFilesTest, OtherFilesMayBeWritten) {
  const TempFolder folder;
  const std::string data = folder.write("a.csv", "1\n"), other = folder.write("b.txt", "1\n");
  const Spec input = parse_yaml("- filename_queue: {files: \"" + folder.path("*.csv") + "\"}", "c.yaml");
  EXPECT_NO_THROW(check_not_an_input(other, input, folder.path("c.yaml")));
  EXPECT_NO_THROW(check_not_an_input(folder.path("new.csv"), input, folder.path("c.yaml")));
}

}  // namespace
}  // namespace millrace::cli
