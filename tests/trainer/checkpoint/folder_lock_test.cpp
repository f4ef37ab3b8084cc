#include "millrace/trainer/checkpoint/folder_lock.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "tests/support/faulty_calls.h"
#include "tests/support/run_apart.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using test::FaultyCalls;

std::string host() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

TEST(FolderLock, IsHeldByOneAtATime) {
  const TempFolder folder;
  std::optional<FolderLock> first(std::in_place, folder.path(), FileCalls::system());
  EXPECT_TRUE(first->held());
  const std::string who = cat(": on host \"", host(), "\", process ", ::getpid());
  try {
    const FolderLock second(folder.path(), FileCalls::system());
    FAIL() << "both have it";
  } catch (const ConfigError& error) {  // exit code 78
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_EQ(error.place().text(), folder.path());
    EXPECT_EQ(error.message(), "another training writes its checkpoints here" + who);
    EXPECT_EQ(error.hint(), "give each training a checkpoint.dir of its own, or wait until that one has ended");
  }
  {
    const FolderLock moved = std::move(*first);
    first.reset();
    EXPECT_THROW(FolderLock(folder.path(), FileCalls::system()), ConfigError);
  }
  EXPECT_TRUE(FolderLock(folder.path(), FileCalls::system()).held());
}

TEST(FolderLock, EndsWithItsProcess) {
  const TempFolder folder;
  const int status = test::run_apart([&] {
    const FolderLock lock(folder.path(), FileCalls::system());
    ::raise(SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(std::filesystem::exists(folder.path("checkpoint.lock")));
  EXPECT_NO_THROW(FolderLock(folder.path(), FileCalls::system()));
}

bool main_thread_is_gone(pid_t process) {
  std::ifstream file(cat("/proc/", process, "/stat"));
  const std::string stat(std::istreambuf_iterator<char>(file), {});
  return stat.find(") Z ") != stat.npos;
}

// Killed, but kept by a call of the system: its main thread is gone, another one is not.
TEST(FolderLock, WaitsForAProcessThatIsEnding) {
  const TempFolder folder;
  int locked[2], goes_on[2];
  ASSERT_EQ(::pipe(locked), 0);
  ASSERT_EQ(::pipe(goes_on), 0);
  const pid_t process = ::fork();
  ASSERT_GE(process, 0);
  if (process == 0) {
    ::close(goes_on[1]);
    const FolderLock lock(folder.path(), FileCalls::system());
    std::thread([&] {
      char byte = 0;
      (void)::write(locked[1], &byte, 1);
      (void)::read(goes_on[0], &byte, 1);
      ::_exit(0);
    }).detach();
    ::syscall(SYS_exit, 0);
  }
  ::close(goes_on[0]);
  char byte = 0;
  ASSERT_EQ(::read(locked[0], &byte, 1), 1);
  while (!main_thread_is_gone(process)) ::poll(nullptr, 0, 1);
  std::thread releaser([&] {
    ::poll(nullptr, 0, 300);
    ::close(goes_on[1]);
  });
  EXPECT_NO_THROW(FolderLock(folder.path(), FileCalls::system()));
  releaser.join();
  ::waitpid(process, nullptr, 0);
  for (const int end : {locked[0], locked[1]}) ::close(end);
}

TEST(FolderLock, IsGoneWithItsFile) {
  const TempFolder folder;
  const FolderLock lock(folder.path(), FileCalls::system());
  const std::string file = folder.path("checkpoint.lock");
  EXPECT_NO_THROW(lock.check());
  std::filesystem::remove(file);
  EXPECT_EQ(error_of<IoError>([&] { lock.check(); }), file + ": the lock is gone: No such file or directory");
  const FolderLock another(folder.path(), FileCalls::system());
  EXPECT_EQ(
      error_of<IoError>([&] { lock.check(); }),
      file + ": this is no longer the lock that the training has; another training may write its checkpoints here now");
  EXPECT_NO_THROW(another.check());
}

TEST(FolderLock, NamesItsHolderAnew) {
  const TempFolder folder;
  folder.write("checkpoint.lock", "another.example.with.a.long.name 12345678\n");
  const FolderLock lock(folder.path(), FileCalls::system());
  EXPECT_EQ(TempFolder::read(folder.path("checkpoint.lock")), cat(host(), ' ', ::getpid(), '\n'));
}

// The holder may not have written its name yet, or a full disk may have prevented it.
TEST(FolderLock, NeedsNoName) {
  const TempFolder folder;
  FaultyCalls full(1, [] { return ENOSPC; });
  const FolderLock lock(folder.path(), full);
  EXPECT_EQ(full.made().back(), "write");
  EXPECT_TRUE(lock.held());
  EXPECT_EQ(
      error_of<ConfigError>([&] { FolderLock(folder.path(), FileCalls::system()); }),
      folder.path() +
          ": another training writes its checkpoints here; give each training a checkpoint.dir of its own, or wait "
          "until that one has ended");
}

TEST(FolderLock, NeedsAFolderThatCanBeWritten) {
  const TempFolder folder;
  EXPECT_EQ(error_of<IoError>([&] { FolderLock(folder.path("no"), FileCalls::system()); }),
            folder.path("no/checkpoint.lock") + ": cannot write: No such file or directory");
  FaultyCalls read_only(0, [] { return EROFS; });
  EXPECT_EQ(error_of<IoError>([&] { FolderLock(folder.path(), read_only); }),
            folder.path("checkpoint.lock") + ": cannot write: Read-only file system");
}

}  // namespace
}  // namespace millrace
