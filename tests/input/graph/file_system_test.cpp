#include "millrace/input/graph/file_system.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

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

TEST_F(FileSystemTest, MatchesAndLists) {
  write("b.csv", "x");
  write("a.csv", "x");
  EXPECT_EQ(files_.match(root_ + "/*.csv"), (std::vector<std::string>{root_ + "/a.csv", root_ + "/b.csv"}));
  EXPECT_EQ(files_.list(root_), (std::vector<std::string>{"a.csv", "b.csv"}));
}

}  // namespace
}  // namespace millrace
