#include "millrace/input/files/file_calls.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/support/faulty_calls.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using test::FaultyCalls;

std::string do_everything(FileCalls& calls, const TempFolder& folder) {
  std::string failed;
  const auto check = [&](const char* call, bool well) {
    if (!well && failed.empty()) failed = call + std::string(": ") + std::to_string(errno);
  };
  Descriptor file = calls.open(folder.path("a"), O_WRONLY | O_CREAT);
  check("open", static_cast<bool>(file));
  check("write", calls.write(file, "text", 4) == 4);
  check("sync", calls.sync(file) == 0);
  check("close", calls.close(file) == 0);
  check("link", calls.link(folder.path("a"), folder.path("b")) == 0);
  check("rename", calls.rename(folder.path("b"), folder.path("c")) == 0);
  check("unlink", calls.unlink(folder.path("a")) == 0);
  check("make_folder", calls.make_folder(folder.path("d")) == 0);
  return failed;
}

TEST(FileCalls, AreTheSystems) {
  const TempFolder folder;
  EXPECT_EQ(do_everything(FileCalls::system(), folder), "");
  EXPECT_EQ(TempFolder::read(folder.path("c")), "text");
  EXPECT_FALSE(std::filesystem::exists(folder.path("a")));
  EXPECT_TRUE(std::filesystem::is_directory(folder.path("d")));
}

TEST(FileCallsDeathTest, AreThoseOfTheProgramThatReplacesThem) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const TempFolder folder;
  EXPECT_EXIT(
      {
        FaultyCalls calls(4, [] { return ENOSPC; });
        FileCalls::replace_system(calls);
        ::_exit(do_everything(FileCalls::system(), folder) == "link: " + std::to_string(ENOSPC) ? 7 : 8);
      },
      testing::ExitedWithCode(7), "");
}

TEST(FileCalls, FailWhereATestSaysSo) {
  const std::vector<std::string> names = {"open", "write", "sync", "close", "link", "rename", "unlink", "make_folder"};
  for (size_t at = 0; at < names.size(); ++at) {
    const TempFolder folder;
    FaultyCalls calls(at, [] { return ENOSPC; });
    EXPECT_EQ(do_everything(calls, folder), names[at] + ": " + std::to_string(ENOSPC));
    EXPECT_EQ(calls.made(), names);
  }
}

TEST(FileCalls, CloseAlsoWhenTheyFail) {
  const TempFolder folder;
  FaultyCalls calls(1, [] { return EIO; });
  Descriptor file = calls.open(folder.path("a"), O_WRONLY | O_CREAT);
  const int number = file.get();
  EXPECT_EQ(calls.close(file), -1);
  EXPECT_EQ(errno, EIO);
  EXPECT_FALSE(file);
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

TEST(FileCalls, WriteAllGoesOnAfterASignal) {
  const TempFolder folder;
  FaultyCalls calls(1, [] { return EINTR; });
  const Descriptor file = calls.open(folder.path("a"), O_WRONLY | O_CREAT);
  EXPECT_EQ(write_all(calls, file, "text"), 0);
  EXPECT_EQ(calls.made().size(), 3u);
  EXPECT_EQ(TempFolder::read(folder.path("a")), "text");
  FaultyCalls full(0, [] { return ENOSPC; });
  EXPECT_EQ(write_all(full, file, "text"), ENOSPC);
}

TEST(FileCalls, NamelessFilesAreOfTheirFolder) {
  const TempFolder folder;
  const Descriptor file = FileCalls::system().open_nameless(folder.path());
  if (!file) GTEST_SKIP() << "this file system has no files without a name";
  struct stat status {};
  ASSERT_EQ(::fstat(file.get(), &status), 0);
  EXPECT_EQ(status.st_nlink, 0u);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace millrace
