#include "millrace/input/files/matched_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "millrace/core/text.h"
#include "tests/input/op_testing.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using testing_support::error_of;
using testing_support::MemoryFiles;
using testing_support::throws_exactly;

using Patterns = std::vector<std::string>;

class MatchFilesTest : public ::testing::Test {
 protected:
  MatchFilesTest() {
    for (const char* name : {"d/a", "d/b", "d/c", "d/d", "d/e"}) files_.files[name] = name;
    files_.folders.insert("d");
  }
  std::vector<MatchedFile> match(const Patterns& patterns) {
    return match_files(patterns, {"c.yaml", 2, 9}, files_, patience_);
  }
  std::string error(const Patterns& patterns) {
    return error_of([&] { match(patterns); });
  }
  bool is_missing(const Patterns& patterns) {
    return throws_exactly<MissingError>([&] { match(patterns); });
  }

  MemoryFiles files_;
  std::chrono::nanoseconds patience_ = std::chrono::milliseconds(5);
};

TEST_F(MatchFilesTest, GivesWhatMatchesInTheOrderOfThePatterns) {
  files_.files["d/b"] = "1234567";
  files_.streams["pipe"] = {"x"};
  files_.streams["-"] = {"x"};
  std::string all;
  for (const MatchedFile& file : match({"d/c", "pipe", "d/[ab]", "-", "d/a"})) {
    all += cat(file.path, file.is_stream ? " stream" : cat(" ", file.size), "; ");
  }
  EXPECT_EQ(all, "d/c 3; pipe stream; d/a 3; d/b 7; - stream; d/a 3; ");
}

TEST_F(MatchFilesTest, AFileThatIsCalledAsThePatternIsWrittenIsMeantItself) {
  for (const char* name : {"d/a[1]", "d/a1", "d/*"}) files_.files[name] = "";
  std::string all;
  for (const MatchedFile& file : match({"d/a[1]", "d/*", "d/a?"})) all += file.path + ' ';
  EXPECT_EQ(all, "d/a[1] d/* d/a1 ");
  files_.files.erase("d/a[1]");
  EXPECT_EQ(match({"d/a[1]"}).front().path, "d/a1");
}

TEST_F(MatchFilesTest, AFolderThatIsCalledAsThePatternIsWrittenIsMeantItself) {
  const TempFolder folder;
  for (const char* name : {"d[1]", "d1", "e*"}) std::filesystem::create_directory(folder.path(name));
  for (const char* name : {"d[1]/a", "d[1]/b", "d1/a", "e*/c"}) folder.write(name, name);
  const auto paths = [&](const std::string& pattern) {
    std::string all;
    for (const MatchedFile& file : match_files(Patterns{folder.path(pattern)}, {}, FileSystem::local())) {
      all += file.path.substr(folder.path("").size()) + ' ';
    }
    return all;
  };
  EXPECT_EQ(paths("d[1]/*"), "d[1]/a d[1]/b ");
  EXPECT_EQ(paths("d?/*"), "d1/a ");
  EXPECT_EQ(paths("e*/*"), "e*/c ");
  EXPECT_EQ(paths("d\\[1]/a"), "d[1]/a ");
  EXPECT_THAT(error_of([&] { paths("d[1]"); }), HasSubstr("expected a file, got a folder; to read what is in it"));
  EXPECT_THAT(error_of([&] { paths("d[1]/*.csv"); }), HasSubstr("d[1] holds a and b"));
}

TEST_F(MatchFilesTest, SaysWhatThereIsWhereNothingMatches) {
  EXPECT_EQ(error({"d/f"}), "c.yaml:2:9: no file matches \"d/f\"; the folder d holds a, b, c, d and e");
  EXPECT_TRUE(is_missing({"d/f"}));
  files_.files["d/examples-00.csv"] = "";
  EXPECT_EQ(error({"d/exampels-*.csv"}),
            "c.yaml:2:9: no file matches \"d/exampels-*.csv\"; did you mean examples-00.csv? the folder d holds a, b, "
            "c, d, e and 1 more");
  EXPECT_EQ(error({"e/*.csv"}), "c.yaml:2:9: no file matches \"e/*.csv\"; there is no folder e");
  EXPECT_EQ(error({"~/d/*.csv"}),
            "c.yaml:2:9: no file matches \"~/d/*.csv\"; ~ is not a folder here: write the whole path");
  EXPECT_EQ(error({"s3://d/a.csv"}),
            "c.yaml:2:9: no file matches \"s3://d/a.csv\"; only local files are read: download it first, or pipe it: "
            "curl .. | trainer .. with files: \"-\" or --data -");
  EXPECT_EQ(error({"x/**/*.csv"}),
            "c.yaml:2:9: no file matches \"x/**/*.csv\"; ** matches in one folder, as * does: write a pattern for each "
            "depth, files: [\"*.csv\", \"*/*.csv\"]");
  EXPECT_EQ(error({"*.csv"}), "c.yaml:2:9: no file matches \"*.csv\"; the current folder holds d");
  files_.folders.insert("e");
  EXPECT_EQ(error({"e/*.csv"}), "c.yaml:2:9: no file matches \"e/*.csv\"; the folder e is empty");
  EXPECT_THAT(error({"d/a", "e/x"}), HasSubstr("no file matches \"e/x\""));
}

TEST_F(MatchFilesTest, RefusesAPatternThatIsLongerThanAnyPath) {
  std::string deep;
  for (int i = 0; i < 50000; ++i) deep += "x/";
  for (const char* name : {"a.csv", "*.csv"}) {
    EXPECT_EQ(error({"d/a", deep + name}),
              "c.yaml:2:9: expected a path or pattern of at most 4096 bytes, got one of 100005");
    EXPECT_TRUE(throws_exactly<ConfigError>([&] { match({deep + name}); }));
  }
  EXPECT_THAT(error({std::string(4096, '*')}), HasSubstr("d: expected a file, got a folder"));
}

// The hint works: what it names is read, or it says what has to be done before.
TEST(MatchFiles, OfAFolderSaysHowToReadWhatIsInIt) {
  const TempFolder folder;
  for (const char* name :
       {"csv", "images", "images/7", "images/8", "deep", "deep/a", "mixed", "empty", "hidden", "packed"}) {
    std::filesystem::create_directory(folder.path(name));
  }
  for (const char* name : {"csv/a.csv", "csv/b.csv", "deep/a/x.tsv", "mixed/README", "mixed/z.csv", "hidden/.a"}) {
    folder.write(name, "1,2\n");
  }
  folder.write("images/7/1.png", "\x89PNG\r\n\x1a\n");
  const auto hint = [&](const std::string& name) {
    const std::string path = folder.path(name);
    const std::string error = error_of([&] { match_files(Patterns{path}, {}, FileSystem::local()); });
    const std::string begin = path + ": expected a file, got a folder; ";
    EXPECT_TRUE(error.starts_with(begin)) << error;
    return error.substr(std::min(begin.size(), error.size()));
  };
  EXPECT_EQ(hint("csv"), cat("to read what is in it, write ", folder.path("csv/*.csv")));
  EXPECT_EQ(match_files(Patterns{folder.path("csv/*.csv")}, {}, FileSystem::local()).size(), 2u);
  EXPECT_EQ(hint("csv/"), cat("to read what is in it, write ", folder.path("csv/*.csv")));
  EXPECT_EQ(hint("mixed"), cat("to read what is in it, write ", folder.path("mixed/*.csv")));
  EXPECT_EQ(hint("deep"), cat("to read what is in it, write ", folder.path("deep/*/*.tsv")));
  folder.write("packed/a.csv.gz", std::string("\x1f\x8b\x08\0", 4));
  EXPECT_EQ(hint("packed"), cat("to read what is in it, write ", folder.path("packed/*.gz")))
      << "they are read as they are";
  EXPECT_EQ(match_files(Patterns{folder.path("deep/*/*.tsv")}, {}, FileSystem::local()).size(), 1u);
  EXPECT_EQ(hint("images"), cat(folder.path("images/7/1.png"),
                                " is a PNG image: image_folder reads pictures, and decode_image decodes them; "
                                "docs/formats.md has an example"));
  EXPECT_EQ(hint("empty"), "there is no file in it");
  EXPECT_EQ(hint("hidden"), "there is no file in it");
}

TEST_F(MatchFilesTest, RefusesWhatIsNoReadableFile) {
  files_.folders.insert("d/sub");
  EXPECT_EQ(error({"d/sub"}), "d/sub: expected a file, got a folder; there is no file in it");
  EXPECT_THAT(error({"d/*"}), HasSubstr("d/sub: expected a file, got a folder"));
  files_.links.insert("d/link");
  EXPECT_EQ(error({"d/link"}), "d/link: the file is a link to nothing");
  EXPECT_TRUE(is_missing({"d/link"}));
  files_.others.insert("d/pipe");
  EXPECT_EQ(error({"d/pipe"}), "d/pipe: expected a file, got something else");
  files_.unreadable.insert("d/secret");
  EXPECT_EQ(error({"d/secret"}), "d/secret: cannot open the file: Permission denied");
}

// Behind the first, opening waits until two are at it, or for so long that there is but one.
class SlowlyOpenedFiles : public MemoryFiles {
 public:
  std::unique_ptr<File> open(const std::string& path) override {
    {
      std::unique_lock lock(mutex_);
      ++opening_;
      changed_.notify_all();
      const auto together = [this] { return opening_ == 1 || opening_ >= 3; };
      if (!changed_.wait_for(lock, std::chrono::seconds(20), together)) alone_ = true;
    }
    return MemoryFiles::open(path);
  }
  bool alone() const { return alone_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int opening_ = 0;  // so far; guarded by mutex_
  std::atomic<bool> alone_ = false;
};

TEST(ManyFilesTest, AreLookedAtAtTheSameTimeWhenThatTakesLong) {
  SlowlyOpenedFiles files;
  for (int i = 100; i < 200; ++i) files.files[cat("d/", i)] = std::string(static_cast<size_t>(i), 'x');
  const std::vector<MatchedFile> matched = match_files(Patterns{"d/*"}, {}, files, std::chrono::nanoseconds(1));
  EXPECT_FALSE(files.alone());
  ASSERT_EQ(matched.size(), 100u);
  for (size_t i = 0; i < matched.size(); ++i) {
    EXPECT_EQ(matched[i].path, cat("d/", 100 + i));
    EXPECT_EQ(matched[i].size, 100 + i);
  }
  EXPECT_EQ(files.open_now, 0);
}

// Knows how many were open at once.
class CountedFiles : public MemoryFiles {
 public:
  std::unique_ptr<File> open(const std::string& path) override {
    std::unique_ptr<File> file = MemoryFiles::open(path);
    for (int now = open_now, seen = most_; seen < now && !most_.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::yield();
    return file;
  }
  int most() const { return most_; }

 private:
  std::atomic<int> most_ = 0;
};

TEST(ManyFilesTest, AreLookedAtByFewerThreadsWhereDescriptorsAreFew) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 12;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  CountedFiles files;
  for (int i = 1000; i < 5000; ++i) files.files[cat("d/", i)] = "x";
  EXPECT_EQ(match_files(Patterns{"d/*"}, {}, files, std::chrono::nanoseconds(0)).size(), 4000u);
  EXPECT_GE(files.most(), 1);
  EXPECT_LE(files.most(), 3);
  setrlimit(RLIMIT_NOFILE, &before);
}

class FilesOfOneThread : public MemoryFiles {
 public:
  std::unique_ptr<File> open(const std::string& path) override {
    EXPECT_EQ(std::this_thread::get_id(), thread_);
    return MemoryFiles::open(path);
  }

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
};

TEST(ManyFilesTest, TakeNoThreadsWhenThatIsFast) {
  FilesOfOneThread files;
  for (int i = 100; i < 999; ++i) files.files[cat("d/", i)] = "x";
  EXPECT_EQ(match_files(Patterns{"d/*"}, {}, files, std::chrono::hours(1)).size(), 899u);
}

TEST_F(MatchFilesTest, NamesTheFirstOfManyFilesThatAreNone) {
  for (int i = 100; i < 400; ++i) files_.files[cat("d/n", i)] = "x";
  files_.unreadable.insert({"d/n180", "d/n360"});
  files_.folders.insert("d/n270");
  for (int i = 0; i < 20; ++i) {
    patience_ = i < 10 ? std::chrono::nanoseconds(0) : std::chrono::hours(1);
    EXPECT_EQ(error({"d/n*"}), "d/n180: cannot open the file: Permission denied");
  }
}

}  // namespace
}  // namespace millrace
