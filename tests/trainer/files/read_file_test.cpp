#include "millrace/trainer/files/read_file.h"

#include "millrace/core/errors.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

TEST(ReadFile, ReadsAllOrTheFirstBytes) {
  const TempFolder folder;
  const std::string bytes(200'000, 'x');
  const std::string path = folder.write("a.txt", bytes);
  EXPECT_EQ(read_file(path, size_t{1} << 20, "it"), bytes);
  EXPECT_EQ(read_file(path, 7, "it").size(), 7u);
  EXPECT_EQ(read_file(path, 65'536, "it").size(), 65'536u);
  EXPECT_EQ(read_file(folder.write("empty", ""), 10, "it"), "");
}

TEST(ReadFile, AMissingFileNamesItsNeighbour) {
  const TempFolder folder;
  folder.write("config.yaml", "");
  const std::string wrong = folder.path("confg.yaml");
  EXPECT_EQ(error_of<MissingError>([&] { read_file(wrong, 10, "the configuration"); }),
            wrong + ": cannot read the configuration: No such file or directory; did you mean " +
                folder.path("config.yaml") + "?");
  EXPECT_EQ(error_of<MissingError>([&] { read_file(folder.path("no/x"), 10, "it"); }),
            folder.path("no/x") + ": cannot read it: No such file or directory; there is no folder \"" +
                folder.path("no") + "\"");
}

TEST(ReadFile, AFolderIsMissing) {
  const TempFolder folder;
  EXPECT_EQ(error_of<MissingError>([&] { read_file(folder.path(), 10, "it"); }),
            folder.path() + ": cannot read it: Is a directory");
}

}  // namespace
}  // namespace millrace
