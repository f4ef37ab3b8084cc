#include "millrace/input/files/file_system.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

class FileSystemTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = cat(testing::TempDir(), "files_", test->name(), '_', getpid());
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(root_ + "/" + name, std::ios::binary) << text;
    return root_ + "/" + name;
  }
  std::string error_of_open(const std::string& path) {
    try {
      files_.open(path);
    } catch (const IoError& error) {
      return error.what();
    }
    return "opened";
  }

  FileSystem& files_ = FileSystem::local();
  std::string root_;
};

TEST_F(FileSystemTest, FilesThatStayOpenLeaveHalfOfTheDescriptors) {
  const std::string path = write("a", "");
  // The sanitizer of undefined behaviour needs descriptors when it first meets a type, and has none later.
  EXPECT_EQ(error_of_open(root_ + "/none"), root_ + "/none: cannot open the file: No such file or directory");
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<std::unique_ptr<File>> kept, others;
  try {
    for (;;) {
      std::unique_ptr<File> file = files_.open(path);
      (file->may_stay_open() ? kept : others).push_back(std::move(file));
    }
  } catch (const IoError& error) {
    EXPECT_EQ(error.what(), path + ": cannot open the file: Too many open files");
  }
  EXPECT_EQ(others.size(), 32u);
  EXPECT_GT(kept.size(), 0u);
  EXPECT_LT(kept.size(), 32u);
  others.clear();
  EXPECT_FALSE(files_.open(path)->may_stay_open());
  kept.pop_back();
  EXPECT_TRUE(files_.open(path)->may_stay_open());
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(FileSystemTest, ReadsAtOffsets) {
  const auto file = files_.open(write("a", "0123456789"));
  EXPECT_EQ(file->size(), 10u);
  char buffer[8] = {};
  EXPECT_EQ(file->read(3, buffer, 4), 4u);
  EXPECT_EQ(std::string_view(buffer, 4), "3456");
  EXPECT_EQ(file->read(7, buffer, 8), 3u);
  EXPECT_EQ(std::string_view(buffer, 3), "789");
  EXPECT_EQ(file->read(10, buffer, 8), 0u);
  EXPECT_EQ(file->read(99, buffer, 8), 0u);
}

TEST_F(FileSystemTest, SeesAFileThatShrank) {
  const std::string path = write("a", "0123456789");
  const auto file = files_.open(path);
  fs::resize_file(path, 4);
  char buffer[10];
  EXPECT_EQ(file->size(), 4u);
  EXPECT_EQ(file->size_at_open(), 10u);
  EXPECT_EQ(file->read(0, buffer, 10), 4u);
}

TEST_F(FileSystemTest, SaysWhyAFileCannotBeOpened) {
  EXPECT_EQ(error_of_open(root_ + "/none"), root_ + "/none: cannot open the file: No such file or directory");
  EXPECT_EQ(error_of_open(root_), root_ + ": cannot open the file: Is a directory");
}

TEST_F(FileSystemTest, TellsWhatAPathIs) {
  write("a", "x");
  fs::create_symlink(root_ + "/a", root_ + "/link");
  fs::create_symlink(root_ + "/gone", root_ + "/dangling");
  EXPECT_EQ(files_.type(root_ + "/a"), FileSystem::Type::file);
  EXPECT_EQ(files_.type(root_ + "/link"), FileSystem::Type::file);
  EXPECT_EQ(files_.type(root_), FileSystem::Type::folder);
  EXPECT_EQ(files_.type(root_ + "/dangling"), FileSystem::Type::none);
  EXPECT_EQ(files_.type("/dev/null"), FileSystem::Type::stream);
}

TEST_F(FileSystemTest, LooksAtAFileWithoutOpeningIt) {
  const std::string path = write("a", "0123456789");
  fs::create_symlink(root_ + "/gone", root_ + "/dangling");
  EXPECT_EQ(files_.look(path).type, FileSystem::Type::file);
  EXPECT_EQ(files_.look(path).size, 10u);
  EXPECT_EQ(files_.look(root_).type, FileSystem::Type::folder);
  EXPECT_EQ(files_.look(root_ + "/dangling").type, FileSystem::Type::none);
  EXPECT_EQ(files_.look("-").type, FileSystem::Type::stream);
}

// As the user that nobody is, where this is root, who reads everything.
TEST_F(FileSystemTest, SaysOfAFileThatItLooksAtWhyItCannotBeRead) {
  const std::string path = write("a", "x");
  const std::string closed = write("closed", "x");
  fs::permissions(closed, fs::perms::none);
  const std::string folder = root_ + "/folder";
  fs::create_directory(folder);
  const std::string within = write("folder/b", "x");
  fs::permissions(folder, fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  const auto error_of_look = [&](const std::string& of) -> std::string {
    try {
      return cat(files_.look(of).size, " bytes");
    } catch (const IoError& error) {
      return error.what();
    }
  };
  const uid_t user = geteuid();
  ASSERT_TRUE(user != 0 || seteuid(65534) == 0);
  EXPECT_EQ(error_of_look(path), "1 bytes");
  EXPECT_EQ(error_of_look(closed), closed + ": cannot open the file: Permission denied");
  EXPECT_EQ(error_of_look(closed), error_of_open(closed));
  EXPECT_EQ(files_.match(folder + "/*"), std::vector{within}) << "its name is all that there is to know";
  EXPECT_EQ(error_of_look(within), within + ": cannot open the file: Permission denied");
  ASSERT_TRUE(user != 0 || seteuid(user) == 0);
  fs::permissions(folder, fs::perms::owner_all);
}

std::atomic<int> signals = 0;

// A program's signal handlers may well be without SA_RESTART. promises/system_calls_test.cpp has the other calls.
TEST_F(FileSystemTest, SignalsDoNotEndAWaitForAPipe) {
  struct sigaction before = {}, action = {};
  action.sa_handler = [](int) { ++signals; };
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  const std::string path = root_ + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const auto stream = files_.open_stream(path);
  const int writer = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(writer, 0);
  std::atomic<size_t> bytes = 0;
  std::thread reader([&] {
    char buffer[16];
    while (const size_t got = stream->read(buffer, sizeof buffer)) bytes += got;
  });
  for (size_t sent = 1; sent <= 200; ++sent) {
    const int met = signals;
    EXPECT_EQ(pthread_kill(reader.native_handle(), SIGUSR1), 0);
    while (signals == met) std::this_thread::yield();
    EXPECT_EQ(::write(writer, "x", 1), 1);
    while (bytes < sent) std::this_thread::yield();
  }
  close(writer);
  reader.join();
  EXPECT_EQ(bytes, 200u);
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(FileSystemTest, MatchesAndLists) {
  write("b.csv", "x");
  write("a.csv", "x");
  EXPECT_EQ(files_.match(root_ + "/*.csv"), (std::vector<std::string>{root_ + "/a.csv", root_ + "/b.csv"}));
  EXPECT_EQ(files_.list(root_), (std::vector<std::string>{"a.csv", "b.csv"}));
}

}  // namespace
}  // namespace millrace
