#include "millrace/trainer/files/atomic_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

size_t files_in(const TempFolder& folder) {
  const std::filesystem::directory_iterator entries(folder.path());
  return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

TEST(AtomicFile, AppearsAtCommit) {
  const TempFolder folder;
  const std::string path = folder.path("a.bin");
  {
    AtomicFile file(path);
    file.write("hello ");
    EXPECT_FALSE(std::filesystem::exists(path));
    file.write("world");
    file.commit();
  }
  EXPECT_EQ(TempFolder::read(path), "hello world");
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(AtomicFile, WithoutCommitTheOldFileStays) {
  const TempFolder folder;
  const std::string path = folder.write("a.bin", "old");
  {
    AtomicFile file(path);
    file.write("new");
  }
  EXPECT_EQ(TempFolder::read(path), "old");
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(AtomicFile, TwoAtOnceDoNotMix) {
  const TempFolder folder;
  const std::string path = folder.path("a.bin");
  AtomicFile first(path), second(path);
  first.write("first");
  second.write("second");
  second.commit();
  first.commit();
  EXPECT_EQ(TempFolder::read(path), "first");
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(AtomicFile, KeepsModeAndFollowsLinks) {
  const TempFolder folder;
  const std::string path = folder.write("a.bin", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  std::filesystem::create_symlink("a.bin", folder.path("link"));
  AtomicFile file(folder.path("link"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
  EXPECT_EQ(TempFolder::read(path), "new");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
}

TEST(AtomicFile, ALinkToNothingBecomesALinkToTheFile) {
  const TempFolder folder;
  std::filesystem::create_symlink("a.bin", folder.path("link"));
  AtomicFile file(folder.path("link"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
  EXPECT_EQ(TempFolder::read(folder.path("a.bin")), "new");
}

// As /dev/stdout links to, where the file that output goes to was deleted.
TEST(AtomicFile, RefusesALinkToAFileWithoutAName) {
  const TempFolder folder;
  const std::string path = folder.write("a.bin", "old");
  const Descriptor open_file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::filesystem::create_symlink(cat("/proc/self/fd/", open_file.get()), folder.path("link"));
  ASSERT_EQ(::unlink(path.c_str()), 0);
  try {
    const AtomicFile file(folder.path("link"));
    FAIL() << "it would replace the link";
  } catch (const IoError& error) {
    EXPECT_EQ(error.message(), "cannot write: it is a link to a file that has no name any more");
  }
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(AtomicFile, RefusesFoldersDevicesAndMissingFolders) {
  const TempFolder folder;
  EXPECT_EQ(error_of<IoError>([&] { AtomicFile file(folder.path("")); }),
            folder.path("") + ": cannot write: it is a folder");
  EXPECT_EQ(error_of<IoError>([] { AtomicFile file("/dev/null"); }),
            "/dev/null: cannot write: it exists and is not a regular file");
  EXPECT_EQ(error_of<IoError>([&] { check_writable(folder.path("no/a.bin")); }),
            folder.path("no/a.bin") + ": cannot write: No such file or directory; make the folder \"" +
                folder.path("no") + "\" first");
  folder.write("file", "");
  EXPECT_EQ(error_of<IoError>([&] { AtomicFile file(folder.path("file/a.bin")); }),
            folder.path("file/a.bin") + ": cannot write: Not a directory");
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(AtomicFile, TheCheckLeavesNothing) {
  const TempFolder folder;
  check_writable(folder.path("a.bin"));
  EXPECT_EQ(files_in(folder), 0u);
}

// A limit on the size of files stands for a full disk.
TEST(AtomicFile, AFailedWriteLeavesTheOldFile) {
  const TempFolder folder;
  const std::string path = folder.write("a.bin", "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::string message = error_of<IoError>([&] {
    AtomicFile file(path);
    file.write(std::string(100'000, 'x'));
    file.commit();
  });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(message, path + ": cannot write: File too large");
  EXPECT_EQ(TempFolder::read(path), "old");
  EXPECT_EQ(files_in(folder), 1u);
}

}  // namespace
}  // namespace millrace
