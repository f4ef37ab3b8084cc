#include "millrace/input/files/atomic_file.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "tests/support/faulty_calls.h"
#include "tests/support/run_apart.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using test::FaultyCalls;
using test::run_apart;

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

TEST(AtomicFile, WhatWasWrittenCanBeRead) {
  for (const bool nameless : {true, false}) {
    const TempFolder folder;
    FaultyCalls calls(SIZE_MAX, [] { return 0; });
    if (!nameless) calls.forbid_nameless();
    AtomicFile file(folder.path("a.bin"), calls);
    file.write("hello ");
    file.write("world");
    std::string some(5, ' ');
    file.read(3, some);
    EXPECT_EQ(some, "lo wo");
    EXPECT_EQ(error_of<IoError>([&] { file.read(7, some); }),
              folder.path("a.bin") + ": cannot read what was written: it is gone");
    file.write("!");
    file.commit();
    EXPECT_EQ(TempFolder::read(folder.path("a.bin")), "hello world!");
  }
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

TEST(AtomicFile, FollowsLinksToTheEnd) {
  const TempFolder folder;
  std::filesystem::create_symlink("second", folder.path("first"));
  std::filesystem::create_symlink("a.bin", folder.path("second"));
  AtomicFile file(folder.path("first"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("first")));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("second")));
  EXPECT_EQ(TempFolder::read(folder.path("a.bin")), "new");
}

TEST(AtomicFile, RefusesALoopOfLinks) {
  const TempFolder folder;
  std::filesystem::create_symlink("b", folder.path("a"));
  std::filesystem::create_symlink("a", folder.path("b"));
  EXPECT_EQ(error_of<IoError>([&] { check_writable(folder.path("a")); }),
            folder.path("a") + ": cannot write: Too many levels of symbolic links");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("a")));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("b")));
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

TEST(AtomicFile, MayHaveTheLongestName) {
  const TempFolder folder;
  const std::string path = folder.path(std::string(255, 'n'));
  AtomicFile file(path);
  file.write("new");
  file.commit();
  EXPECT_EQ(TempFolder::read(path), "new");
  EXPECT_EQ(error_of<IoError>([&] { check_writable(path + "n"); }), path + "n: cannot write: File name too long");
}

TEST(AtomicFile, HeedsTheUmask) {
  const TempFolder folder;
  for (const mode_t mask : {0U, 022U, 077U}) {
    const mode_t before = ::umask(mask);
    AtomicFile file(folder.path("a.bin"));
    ::umask(before);
    file.commit();
    struct stat status {};
    ASSERT_EQ(::stat(folder.path("a.bin").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0666 & ~mask);
    std::filesystem::remove(folder.path("a.bin"));
  }
}

TEST(AtomicFile, NothingStaysOfAProgramThatIsKilled) {
  const TempFolder folder;
  if (!Descriptor(::open(folder.path().c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600))) {
    GTEST_SKIP() << "this file system has no files without a name";
  }
  const int status = run_apart([&] {
    AtomicFile file(folder.path("a.bin"));
    file.write(std::string(100'000, 'x'));
    ::raise(SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(files_in(folder), 0u);
}

// Makes linkat() fail in this process; false where the system does not let it.
bool forbid_links() {
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_linkat, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program = {.len = 4, .filter = filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(AtomicFile, IsCopiedWhereItMayNotBeLinked) {
  const TempFolder folder;
  const std::string text(200'000, 'x'), path = folder.write("a.bin", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  const int status = run_apart([&] {
    if (!forbid_links()) ::_exit(7);
    if (::linkat(AT_FDCWD, path.c_str(), AT_FDCWD, folder.path("b").c_str(), 0) == 0) ::_exit(8);
    AtomicFile file(path);
    file.write(text);
    file.commit();
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == 7) GTEST_SKIP() << "no filters of system calls";
  EXPECT_EQ(status, 0);
  EXPECT_EQ(TempFolder::read(path), text);
  EXPECT_EQ(files_in(folder), 1u);
  struct stat left {};
  ASSERT_EQ(::stat(path.c_str(), &left), 0);
  EXPECT_EQ(left.st_mode & 07777, 0640u);
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

TEST(AtomicFile, AFullDiskSaysWhatToDo) {
  const TempFolder folder;
  FaultyCalls faulty(1, [] { return ENOSPC; });
  EXPECT_EQ(error_of<IoError>([&] { AtomicFile(folder.path("a"), faulty).write("new"); }),
            folder.path("a") + ": cannot write: No space left on device; free some space, or write to another disk");
}

// At every call, with and without nameless files, for a new file and for one that is replaced.
TEST(AtomicFile, AFaultAtAnyCallLeavesTheOldFileOrTheNewOne) {
  for (const bool nameless : {true, false}) {
    for (const bool replaces : {true, false}) {
      for (size_t at = 0;; ++at) {
        const TempFolder folder;
        const std::string path = folder.path("a.bin");
        if (replaces) folder.write("a.bin", "old");
        FaultyCalls faulty(at, [] { return EIO; });
        if (!nameless) faulty.forbid_nameless();
        bool done = false;
        try {
          AtomicFile file(path, faulty);
          file.write("new");
          file.commit();
          done = true;
        } catch (const IoError& error) {
          EXPECT_EQ(std::string(error.what()), path + ": cannot write: Input/output error");
        }
        if (at >= faulty.made().size()) {
          EXPECT_TRUE(done);
          break;
        }
        SCOPED_TRACE(cat("nameless ", nameless, ", replaces ", replaces, ", call ", at, ": ", faulty.made()[at]));
        if (!std::filesystem::exists(path)) {
          EXPECT_FALSE(done || replaces);
        } else if (const std::string text = TempFolder::read(path); text != "new") {
          EXPECT_TRUE(text == "old" && replaces && !done) << text;
        }
        EXPECT_EQ(files_in(folder), std::filesystem::exists(path) ? 1u : 0u);
      }
    }
  }
}

TEST(AtomicFile, ANewFileNeedsNoTemporaryName) {
  const TempFolder folder;
  FaultyCalls calls(0, [] { return 0; });
  AtomicFile file(folder.path("a.bin"), calls);
  if (calls.made().size() > 1) GTEST_SKIP() << "this file system has no files without a name";
  file.write("new");
  file.commit();
  EXPECT_EQ(calls.made(),
            (std::vector<std::string>{"open_nameless", "write", "sync", "link", "close", "open", "sync"}));
  EXPECT_EQ(TempFolder::read(folder.path("a.bin")), "new");
}

TEST(AtomicFile, KnowsWhoMadeATemporaryFile) {
  const std::string name = "checkpoint-000000500.safetensors";
  EXPECT_EQ(writer_of_temporary(name + ".1234-0.tmp", name), 1234);
  EXPECT_EQ(writer_of_temporary(name + ".1-17.tmp", name), 1);
  for (const char* end : {"", ".tmp", ".-0.tmp", ".1234.tmp", ".1234-.tmp", ".1234-0", ".1234-0.tmpx", ".x-0.tmp",
                          ".12x-0.tmp", ".-5-0.tmp", ".0-0.tmp", ".99999999999999999999-0.tmp", ".1234-0x.tmp"}) {
    EXPECT_EQ(writer_of_temporary(name + end, name), std::nullopt) << end;
  }
  EXPECT_EQ(writer_of_temporary("other.1234-0.tmp", name), std::nullopt);

  const TempFolder folder;
  FaultyCalls calls(0, [] { return 0; });
  calls.forbid_nameless();
  const std::string longest(255, 'n');
  const AtomicFile file(folder.path(longest), calls);
  const std::filesystem::path made = std::filesystem::directory_iterator(folder.path())->path();
  EXPECT_EQ(writer_of_temporary(made.filename().string(), longest), ::getpid());
}

}  // namespace
}  // namespace millrace
