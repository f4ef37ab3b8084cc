#include "millrace/input/files/links.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "millrace/core/descriptor.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

TEST(FollowLinks, LeadsToTheEnd) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path("d"));
  const std::string file = folder.write("d/a.bin", "x");
  std::filesystem::create_symlink("second", folder.path("first"));
  std::filesystem::create_symlink("d/third", folder.path("second"));
  std::filesystem::create_symlink(file, folder.path("d/third"));
  EXPECT_EQ(follow_links(folder.path("first")), file);
  EXPECT_EQ(follow_links(file), file);
  EXPECT_EQ(follow_links("a.bin"), "a.bin");
}

TEST(FollowLinks, LeadsToWhatIsNotThere) {
  const TempFolder folder;
  std::filesystem::create_symlink("second", folder.path("first"));
  std::filesystem::create_symlink("none/a.bin", folder.path("second"));
  EXPECT_EQ(follow_links(folder.path("first")), folder.path("none/a.bin"));
  EXPECT_EQ(follow_links(folder.path("nothing")), folder.path("nothing"));
}

// As many as the system follows.
TEST(FollowLinks, FollowsFortyAndNoMore) {
  const TempFolder folder;
  const std::string file = folder.write("0", "x");
  for (int i = 1; i <= 41; ++i) std::filesystem::create_symlink(cat(i - 1), folder.path(cat(i)));
  EXPECT_EQ(follow_links(folder.path("40")), file);
  EXPECT_EQ(::access(folder.path("40").c_str(), F_OK), 0);
  EXPECT_EQ(::access(folder.path("41").c_str(), F_OK), -1);
  EXPECT_EQ(error_of<IoError>([&] { follow_links(folder.path("41")); }),
            folder.path("41") + ": cannot write: Too many levels of symbolic links");
}

TEST(FollowLinks, RefusesALoop) {
  const TempFolder folder;
  std::filesystem::create_symlink("b", folder.path("a"));
  std::filesystem::create_symlink("a", folder.path("b"));
  EXPECT_EQ(error_of<IoError>([&] { follow_links(folder.path("a")); }),
            folder.path("a") + ": cannot write: Too many levels of symbolic links");
}

TEST(FollowLinks, RefusesAFileWithoutAName) {
  const TempFolder folder;
  const std::string path = folder.write("a.bin", "old");
  const Descriptor open_file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::string link = cat("/proc/self/fd/", open_file.get());
  EXPECT_EQ(follow_links(link), path);
  ASSERT_EQ(::unlink(path.c_str()), 0);
  EXPECT_EQ(error_of<IoError>([&] { follow_links(link); }),
            link + ": cannot write: it is a link to a file that has no name any more");
  // Something else has that name now.
  folder.write("a.bin (deleted)", "other");
  EXPECT_THROW(follow_links(link), IoError);
}

TEST(MissingFolderHint, IsForMissingFolders) {
  const TempFolder folder;
  EXPECT_EQ(missing_folder_hint(folder.path("no/a"), ENOENT),
            cat("make the folder ", quote(folder.path("no"), 300), " first"));
  EXPECT_EQ(missing_folder_hint(folder.path("no/a"), EACCES), "");
  EXPECT_EQ(missing_folder_hint(folder.path("a"), ENOENT), "");
  EXPECT_EQ(missing_folder_hint("a", ENOENT), "");
}

}  // namespace
}  // namespace millrace
