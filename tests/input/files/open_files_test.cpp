#include "millrace/input/files/open_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "millrace/core/random.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::MemoryFiles;

FileEntry entry(const std::string& path, uint32_t index, uint64_t size) { return {path, index, size}; }

TEST(OpenFiles, OpensAFileOnce) {
  MemoryFiles files;
  files.files = {{"a", "1"}, {"b", "22"}};
  OpenFiles open(files, 4);
  const auto [a, just_now] = open.get(entry("a", 0, 1));
  EXPECT_TRUE(just_now);
  EXPECT_EQ(open.get(entry("a", 0, 1)).file, a);
  EXPECT_FALSE(open.get(entry("a", 0, 1)).just_now);
  EXPECT_NE(open.get(entry("b", 1, 2)).file, a);
  EXPECT_EQ(files.opened, 2);
}

TEST(OpenFiles, ClosesTheLeastRecentlyUsedOne) {
  MemoryFiles files;
  files.files = {{"a", ""}, {"b", ""}, {"c", ""}};
  {
    OpenFiles open(files, 2);
    const auto held = open.get(entry("a", 0, 0));
    open.get(entry("b", 1, 0));
    open.get(entry("a", 0, 0));
    open.get(entry("c", 2, 0));
    EXPECT_EQ(files.open_now, 2) << "b is closed";
    open.get(entry("a", 0, 0));
    EXPECT_EQ(files.opened, 3);
    open.get(entry("b", 1, 0));
    open.get(entry("c", 2, 0));
    EXPECT_EQ(files.open_now, 3) << "a is still held";
  }
  EXPECT_EQ(files.open_now, 0);
}

TEST(OpenFiles, KeepsNoFileThatMayNotStayAndLetsAnOldOneGo) {
  MemoryFiles files;
  files.files = {{"a", ""}, {"b", ""}, {"c", ""}};
  files.may_stay_open = 2;
  OpenFiles open(files, 8);
  open.get(entry("a", 0, 0));
  open.get(entry("b", 1, 0));
  open.get(entry("c", 2, 0));
  EXPECT_EQ(files.open_now, 1) << "b alone";
  EXPECT_FALSE(open.get(entry("b", 1, 0)).just_now);
  EXPECT_TRUE(open.get(entry("c", 2, 0)).just_now);
  EXPECT_FALSE(open.get(entry("c", 2, 0)).just_now) << "there was room for it";
  files.may_stay_open = 0;
  open.get(entry("a", 0, 0));
  open.get(entry("a", 0, 0));
  open.get(entry("a", 0, 0));
  EXPECT_EQ(files.open_now, 0);
}

TEST(OpenFiles, RefusesAFileThatHasShrunk) {
  MemoryFiles files;
  files.files["a"] = "12345";
  OpenFiles open(files, 2);
  EXPECT_EQ(
      error_of([&] { open.get(entry("a", 0, 6)); }),
      "a: the file is shorter than when the run began: expected 6 bytes, got 5; do not write to input files while "
      "they are read");
  EXPECT_EQ(error_of([&] { open.get(entry("a", 0, 4)); }), "no error") << "more bytes are nobody's concern";
  EXPECT_EQ(error_of([&] { open.get(entry("gone", 1, 4)); }), "gone: cannot open the file: No such file or directory");
}

// A file that opens another one while it is asked.
class CuriousFiles : public MemoryFiles {
 public:
  OpenFiles* all = nullptr;

  std::unique_ptr<File> open(const std::string& path) override {
    return path == "b" ? MemoryFiles::open(path) : std::make_unique<Curious>(*this, MemoryFiles::open(path));
  }

 private:
  class Curious : public File {
   public:
    Curious(CuriousFiles& owner, std::unique_ptr<File> file) : owner_(owner), file_(std::move(file)) {}
    ~Curious() override { owner_.all->get(entry("b", 1, 0)); }
    bool may_stay_open() const override {
      owner_.all->get(entry("b", 1, 0));
      return file_->may_stay_open();
    }
    uint64_t size() const override { return file_->size(); }
    size_t read(uint64_t offset, void* to, size_t bytes) const override { return file_->read(offset, to, bytes); }

   private:
    CuriousFiles& owner_;
    const std::unique_ptr<File> file_;
  };
};

TEST(OpenFiles, HoldsNoLockWhileAFileIsAsked) {
  CuriousFiles files;
  files.files = {{"a", ""}, {"b", ""}, {"c", ""}};
  files.may_stay_open = 1;
  OpenFiles open(files, 1);
  files.all = &open;
  open.get(entry("a", 0, 0));
  open.get(entry("c", 2, 0));
  EXPECT_GE(files.opened, 3);
}

TEST(FileDigest, HashesTheFirstAndTheLastBlock) {
  MemoryFiles files;
  std::string& text = files.files["a"];
  for (int i = 0; i < 10000; ++i) text += static_cast<char>(i % 251);
  for (const uint64_t size : {0u, 1u, 4095u, 4096u, 4097u, 8192u, 10000u}) {
    const std::string_view all = std::string_view(text).substr(0, size);
    const FileDigest digest = digest_of(entry("a", 0, size), files);
    EXPECT_EQ(digest.first, fnv1a64(all.substr(0, 4096))) << size;
    EXPECT_EQ(digest.last, fnv1a64(size < 4096 ? all : all.substr(size - 4096))) << size;
  }
  EXPECT_EQ(files.open_now, 0);
}

TEST(FileDigest, RefusesAFileThatIsShorterNow) {
  MemoryFiles files;
  files.files["a"] = std::string(5000, 'x');
  EXPECT_EQ(error_of([&] { digest_of(entry("a", 0, 5001), files); }),
            "a: the file is shorter than when the run began: expected 5001 bytes, got 5000; do not write to input "
            "files while they are read");
  EXPECT_EQ(error_of([&] { digest_of(entry("a", 0, 20000), files); }),
            "a: the file is shorter than when the run began: expected 20000 bytes, got 5000; do not write to input "
            "files while they are read");
  EXPECT_EQ(error_of([&] { digest_of(entry("a", 0, 10), files); }), "no error") << "what was added is not looked at";
}

class Descriptors : public ::testing::Test {
 protected:
  Descriptors() { getrlimit(RLIMIT_NOFILE, &before_); }
  ~Descriptors() override { setrlimit(RLIMIT_NOFILE, &before_); }
  void limit(rlim_t most) const {
    rlimit few = before_;
    few.rlim_cur = most;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  }

 private:
  rlimit before_ = {};
};

TEST_F(Descriptors, AreAsManyAsTheLimitSays) {
  limit(77);
  EXPECT_EQ(most_descriptors(), 77u);
}

// The most that had a turn at once, of 16 threads.
int most_turns() {
  std::atomic<int> now = 0, most = 0, all = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        const ReadingTurn turn;
        const int together = ++now;
        for (int seen = most; seen < together && !most.compare_exchange_weak(seen, together);) {
        }
        std::this_thread::yield();
        --now;
        ++all;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(all, 16 * 200) << "everyone has a turn at last";
  return most;
}

TEST_F(Descriptors, AQuarterOfThemIsForTasksThatRead) {
  limit(32);
  const int few = most_turns();
  EXPECT_GE(few, 2);
  EXPECT_LE(few, 8);
  limit(3);
  EXPECT_EQ(most_turns(), 1);
}

}  // namespace
}  // namespace millrace
