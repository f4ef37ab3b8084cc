#include "millrace/input/files/glob.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "tests/support/sanitized.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

// A folder of its own that is gone afterwards.
class GlobTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = cat(testing::TempDir(), "glob_", test->name(), '_', getpid());
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void touch(const std::string& name) {
    fs::create_directories(fs::path(root_ + "/" + name).parent_path());
    std::ofstream(root_ + "/" + name) << "x";
  }
  // Matches below the root, without it.
  std::vector<std::string> match(const std::string& pattern) {
    std::vector<std::string> out;
    for (const std::string& path : glob_paths(root_ + "/" + pattern)) out.push_back(path.substr(root_.size() + 1));
    return out;
  }

  std::string root_;
};

using Names = std::vector<std::string>;

TEST(GlobMatches, Wildcards) {
  EXPECT_TRUE(glob_matches("*", "abc"));
  EXPECT_TRUE(glob_matches("*.csv", ".csv") == false);
  EXPECT_TRUE(glob_matches("*.csv", "a.csv"));
  EXPECT_FALSE(glob_matches("*.csv", "a.csv.gz"));
  EXPECT_TRUE(glob_matches("a*b*c", "a1b2b3c"));
  EXPECT_FALSE(glob_matches("a*b*c", "a1b2b3"));
  EXPECT_TRUE(glob_matches("part-?", "part-7"));
  EXPECT_FALSE(glob_matches("part-?", "part-"));
  EXPECT_FALSE(glob_matches("part-?", "part-77"));
  EXPECT_TRUE(glob_matches("**", "x"));
  EXPECT_TRUE(glob_matches("", ""));
  EXPECT_FALSE(glob_matches("", "x"));
}

TEST(GlobMatches, Sets) {
  EXPECT_TRUE(glob_matches("x[0-3]", "x2"));
  EXPECT_FALSE(glob_matches("x[0-3]", "x4"));
  EXPECT_TRUE(glob_matches("x[!0-3]", "x4"));
  EXPECT_TRUE(glob_matches("x[^0-3]", "xa"));
  EXPECT_FALSE(glob_matches("x[!0-3]", "x1"));
  EXPECT_TRUE(glob_matches("x[]]", "x]"));
  EXPECT_TRUE(glob_matches("x[a-]", "x-"));
  EXPECT_TRUE(glob_matches("x[-a]", "x-"));
  EXPECT_TRUE(glob_matches("x[\\]]", "x]"));
  EXPECT_TRUE(glob_matches("x[", "x["));
  EXPECT_TRUE(glob_matches("x[ab", "x[ab"));
  EXPECT_FALSE(glob_matches("x[a-c]", "xB"));
  EXPECT_TRUE(glob_matches("[\x80-\xff]", "\xc3"));
}

TEST(GlobMatches, EscapesAndHiddenNames) {
  EXPECT_TRUE(glob_matches("a\\*", "a*"));
  EXPECT_FALSE(glob_matches("a\\*", "ab"));
  EXPECT_FALSE(glob_matches("*", ".hidden"));
  EXPECT_FALSE(glob_matches("?hidden", ".hidden"));
  EXPECT_FALSE(glob_matches("[.]hidden", ".hidden"));
  EXPECT_TRUE(glob_matches(".h*", ".hidden"));
}

TEST(GlobMatches, TakesNoExponentialTime) {
  EXPECT_FALSE(glob_matches("a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
}

TEST_F(GlobTest, SortsBytewiseAndLeavesOutHiddenFiles) {
  for (const char* name : {"b.csv", "B.csv", "a.csv", "a-10.csv", "a-9.csv", ".c.csv", "a.txt", "\xc3\xa4.csv"})
    touch(name);
  EXPECT_EQ(match("*.csv"), (Names{"B.csv", "a-10.csv", "a-9.csv", "a.csv", "b.csv", "\xc3\xa4.csv"}));
  EXPECT_EQ(match(".*.csv"), (Names{".c.csv"}));
  EXPECT_EQ(match("[ab].csv"), (Names{"a.csv", "b.csv"}));
  EXPECT_EQ(match("z*"), Names{});
}

TEST_F(GlobTest, MatchesInFolders) {
  for (const char* name : {"x/1.csv", "x/2.csv", "y/1.csv", "y/z/3.csv", "1.csv"}) touch(name);
  EXPECT_EQ(match("*/1.csv"), (Names{"x/1.csv", "y/1.csv"}));
  EXPECT_EQ(match("?/*.csv"), (Names{"x/1.csv", "x/2.csv", "y/1.csv"}));
  EXPECT_EQ(match("*/*/*.csv"), (Names{"y/z/3.csv"}));
  EXPECT_EQ(match("x//1*"), (Names{"x//1.csv"}));
  EXPECT_EQ(match("1.csv/*"), Names{});
  EXPECT_EQ(match("*/"), (Names{"x/", "y/"})) << "1.csv is no folder";
}

TEST_F(GlobTest, TakesPatternsOfAnyDepth) {
  touch("x/a.csv");
  std::string there_and_back, deep;
  for (int i = 0; i < 100; ++i) there_and_back += "x/../";
  for (int i = 0; i < 50000; ++i) deep += "x/";
  EXPECT_EQ(match(there_and_back + "?/*.csv"), (Names{there_and_back + "x/a.csv"}));
  EXPECT_EQ(match(deep + "a.csv"), Names{});
  EXPECT_EQ(match("[y]/" + deep + "*.csv"), Names{});
  EXPECT_THROW(match(deep + "*.csv"), IoError) << "the name is too long for the system";
}

TEST_F(GlobTest, FindsPathsWithoutWildcards) {
  touch("a.csv");
  touch("odd[1]*.csv");
  fs::create_symlink(root_ + "/gone", root_ + "/dangling");
  EXPECT_EQ(match("a.csv"), (Names{"a.csv"}));
  EXPECT_EQ(match("b.csv"), Names{});
  EXPECT_EQ(match("odd\\[1\\]\\*.csv"), (Names{"odd[1]*.csv"}));
  EXPECT_EQ(match("dangling"), (Names{"dangling"}));
  EXPECT_EQ(match("d*"), (Names{"dangling"}));
}

TEST_F(GlobTest, RefusesAFolderThatCannotBeRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads every folder";
  touch("locked/a.csv");
  chmod((root_ + "/locked").c_str(), 0);
  EXPECT_THROW(match("locked/*.csv"), IoError);
  chmod((root_ + "/locked").c_str(), 0700);
}

// The folder is not to blame.
TEST_F(GlobTest, SaysWhenItRanOutOfMemory) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers reserve most of the address space";
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_AS, &none);
    // The system's function wants 32 KB at once. What it leaves over is enough for the error.
    void* const left_over = std::malloc(8000);
    static void* volatile taken;
    do {
      taken = std::malloc(8192);
    } while (taken != nullptr);
    std::free(left_over);
    try {
      list_folder(root_);
    } catch (const InternalError& error) {
      _exit(error.message() == "cannot read the folder: out of memory" ? 7 : 2);
    } catch (...) {
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(GlobTest, ListsAFolder) {
  touch("b");
  touch("a");
  touch(".c");
  EXPECT_EQ(list_folder(root_), (Names{".c", "a", "b"}));
  EXPECT_EQ(list_folder(root_ + "/none"), Names{});
  EXPECT_EQ(list_folder(root_ + "/a"), Names{});
}

}  // namespace
}  // namespace millrace
