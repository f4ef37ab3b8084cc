#include "millrace/cli/verify/work_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "millrace/cli/process/exit_code.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

using std::filesystem::exists;

class WorkFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* before = std::getenv("TMPDIR");
    if (before != nullptr) before_ = before;
    ::setenv("TMPDIR", folder_.path().c_str(), 1);
  }
  void TearDown() override {
    if (before_) {
      ::setenv("TMPDIR", before_->c_str(), 1);
    } else {
      ::unsetenv("TMPDIR");
    }
  }

  const TempFolder folder_;
  std::optional<std::string> before_;
};

TEST_F(WorkFolderTest, IsRemovedWithWhatIsInIt) {
  std::string path;
  {
    const WorkFolder work("");
    path = work.path();
    EXPECT_TRUE(path.starts_with(folder_.path() + "/millrace-verify-")) << path;
    const std::string inner = work.make("inner");
    EXPECT_TRUE(exists(inner));
    work.remove(inner);
    EXPECT_FALSE(exists(inner));
    work.make("other");
    EXPECT_FALSE(work.keeps());
  }
  EXPECT_FALSE(exists(path));
}

TEST_F(WorkFolderTest, StaysIfItIsAskedFor) {
  const std::string path = folder_.path("a/b");
  {
    const WorkFolder work(path);
    EXPECT_TRUE(work.keeps());
    work.remove(work.make("inner"));
  }
  EXPECT_TRUE(exists(path + "/inner"));
  EXPECT_EQ(error_of<UsageError>([&] { const WorkFolder again(path); }),
            "--keep \"" + path + "\": the folder is not empty");
}

TEST_F(WorkFolderTest, StaysIfSomethingWentWrong) {
  std::string path;
  {
    WorkFolder work("");
    path = work.path();
    work.keep();
  }
  EXPECT_TRUE(exists(path));
}

TEST_F(WorkFolderTest, NeedsAPlace) {
  ::setenv("TMPDIR", folder_.path("none").c_str(), 1);
  EXPECT_EQ(error_of<IoError>([] { const WorkFolder work(""); }),
            folder_.path("none") +
                ": cannot make a folder for the trainings: No such file or directory; set TMPDIR to a folder that can "
                "be written");
}

}  // namespace
}  // namespace millrace::cli
