#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::error_of;
using testing_support::list_of;
using testing_support::make_op;
using testing_support::MemoryFiles;
using testing_support::throws_exactly;

class FilenameQueueTest : public ::testing::Test {
 protected:
  FilenameQueueTest() {
    for (const char* name : {"d/a", "d/b", "d/c", "d/d", "d/e"}) files_.files[name] = name;
    files_.folders.insert("d");
  }
  std::unique_ptr<NameSource> make(const Spec& options, uint64_t seed = 23, std::string_view name = "filename_queue") {
    auto op = make_op<NameSource>("filename_queue", options);
    BindArgs args;
    args.files = &files_;
    args.seed = seed;
    args.name = name;
    args.source_index = 7;
    EXPECT_EQ(op->bind(args).type, PortType::names);
    return op;
  }
  std::string make_error(const Spec& options) {
    return error_of([&] { make(options); });
  }
  // The last letters of the next `count` paths; '.' at the end of the data.
  static std::string next(NameSource& queue, int count) {
    std::string out;
    Unit unit;
    while (count-- > 0) out += queue.next(unit) ? unit.file->path.back() : '.';
    return out;
  }

  MemoryFiles files_;
};

Spec five() { return Spec::map().set("files", "d/?"); }

TEST_F(FilenameQueueTest, GivesFilesInTheOrderThatTheDocumentationDefines) {
  // Computed from the formula by another program.
  EXPECT_EQ(next(*make(five()), 20), "dbeacceabddbceadbeca");
  EXPECT_EQ(next(*make(five(), 0), 10), "cedabbcdae");
  EXPECT_EQ(next(*make(five(), 23, "other"), 10), "ebadcdbcae") << "keyed by the op's name";
}

TEST_F(FilenameQueueTest, KeepsTheMatchedOrderWithoutShuffling) {
  EXPECT_EQ(next(*make(five().set("shuffle", false)), 11), "abcdeabcdea");
  const Spec list = Spec::map().set("files", list_of({"d/c", "d/?", "d/a"})).set("shuffle", false).set("epochs", 1);
  EXPECT_EQ(next(*make(list), 9), "cabcdea..") << "list order and duplicates are kept";
}

TEST_F(FilenameQueueTest, EndsAfterItsEpochs) {
  auto queue = make(five().set("epochs", 2));
  EXPECT_EQ(next(*queue, 12), "dbeacceabd..");
  EXPECT_EQ(next(*queue, 2), "..");
  EXPECT_FALSE(queue->endless());
  EXPECT_TRUE(make(five())->endless());
}

TEST_F(FilenameQueueTest, TellsWhatEachUnitIs) {
  auto queue = make(five().set("shuffle", false));
  Unit unit;
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(queue->next(unit));
  EXPECT_EQ(unit.file->path, "d/b");
  EXPECT_EQ(unit.file->index, 1u);
  EXPECT_EQ(unit.file->size, 3u);
  EXPECT_EQ(unit.begin, 0u);
  EXPECT_EQ(unit.end, 3u);
  EXPECT_EQ(unit.pass, 1u);
  EXPECT_EQ(unit.file_ordinal, 1u);
  EXPECT_EQ(unit.source, 7u);
  EXPECT_TRUE(unit.exact);
  EXPECT_EQ(unit.line, 1u);
  RowId id;
  id.file = 2;
  id.line = 17;
  EXPECT_EQ(queue->place(id).text(), "d/c:17");
  EXPECT_EQ(queue->unit_of(id).file->path, "d/c");
  EXPECT_EQ(queue->files().size(), 5u);
}

TEST_F(FilenameQueueTest, MakesEveryOrderEquallyOften) {
  files_.files = {{"d/a", ""}, {"d/b", ""}, {"d/c", ""}};
  auto queue = make(five(), 1);
  std::map<std::string, int> seen;
  constexpr int kPasses = 6000;
  for (int i = 0; i < kPasses; ++i) ++seen[next(*queue, 3)];
  ASSERT_EQ(seen.size(), 6u);
  double chi_square = 0;
  for (const auto& [order, count] : seen) chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chi_square, 20.5) << "five degrees of freedom, one run in a thousand";
}

TEST_F(FilenameQueueTest, SharesOutTheFilesOfEachEpoch) {
  const auto shard = [&](int64_t index, int64_t count) {
    return make(five().set("epochs", 2).set("shard", Spec::map().set("index", index).set("count", count)));
  };
  EXPECT_EQ(next(*shard(0, 2), 7), "deccad.") << "of dbeac and ceabd";
  EXPECT_EQ(next(*shard(1, 2), 5), "baeb.");
  EXPECT_EQ(next(*shard(4, 5), 3), "cd.");
  EXPECT_EQ(next(*shard(0, 1), 5), "dbeac");
}

TEST_F(FilenameQueueTest, RefusesShardsThatAreNone) {
  const auto shard_error = [&](int64_t index, int64_t count) {
    return make_error(five().set("shard", Spec::map().set("index", index).set("count", count)));
  };
  EXPECT_THAT(shard_error(5, 6), HasSubstr("shard 5 of 6 is empty: there are 5 files"));
  EXPECT_THAT(shard_error(2, 2), HasSubstr("shard.index: expected less than count = 2, got 2; shards count from 0"));
  EXPECT_THAT(shard_error(-1, 2), HasSubstr("shard.index: expected at least 0"));
  EXPECT_THAT(make_error(five().set("shard", Spec::map().set("index", 0))), HasSubstr("the key count is required"));
}

TEST_F(FilenameQueueTest, GoesOnFromAnyPosition) {
  for (const bool endless : {false, true}) {
    Spec options = five();
    if (!endless) options.set("epochs", 3);
    const std::string all = next(*make(options), 15);
    for (uint32_t pass = 0; pass < 3; ++pass) {
      for (uint32_t ordinal = 0; ordinal <= 5; ++ordinal) {
        auto queue = make(options);
        next(*queue, 4);
        queue->seek({.pass = pass, .file_ordinal = ordinal});
        const size_t from = pass * 5 + ordinal;
        EXPECT_EQ(next(*queue, static_cast<int>(15 - from)), all.substr(from));
        EXPECT_EQ(next(*queue, 1) == ".", !endless);
      }
    }
  }
}

TEST_F(FilenameQueueTest, AnotherRunHasPassesOfItsOwn) {
  auto queue = make(five().set("epochs", 2));
  next(*queue, 3);
  queue->rewind(1);
  EXPECT_EQ(next(*queue, 11), "dbceadbeca.") << "passes 2 and 3";
  queue->seek({.pass = 3, .file_ordinal = 4});
  EXPECT_EQ(next(*queue, 2), "a.");
  queue->rewind(0);
  EXPECT_EQ(next(*queue, 5), "dbeac");
}

TEST_F(FilenameQueueTest, AnotherRunOfEndlessFilesBeginsWithANewPass) {
  auto queue = make(five());
  EXPECT_EQ(next(*queue, 7), "dbeacce");
  queue->rewind(1);
  EXPECT_EQ(next(*queue, 5), "ceabd") << "pass 1";
}

TEST_F(FilenameQueueTest, FindsTheSameFilesAgain) {
  State state;
  make(five())->save(state);
  make(five())->check(state);
  EXPECT_EQ(error_of([&] {
              make(Spec::map().set("files", list_of({"d/b", "d/a", "d/c", "d/d", "d/e"})))->check(state);
            }),
            "the saved state has the file d/a, now there is d/b");
}

// What check() says of the files as they are now, against the state of five files of `bytes` bytes.
class ChangedFileTest : public FilenameQueueTest {
 protected:
  void save(size_t bytes) {
    for (auto& [path, text] : files_.files) {
      text.clear();
      for (size_t i = 0; i < bytes; ++i) text += static_cast<char>('a' + i % 26);
    }
    make(five())->save(state_);
    make(five())->check(state_);
  }
  std::string check() {
    EXPECT_TRUE((throws_exactly<DataError>([&] { make(five())->check(state_); })));
    return error_of([&] { make(five())->check(state_); });
  }
  std::string& text() { return files_.files["d/c"]; }

  State state_;
  const std::string changed_ = "d/c: the file has changed since the state was saved: ";
  const std::string hint_ = "; a run goes on only with the data that it began with";
};

TEST_F(ChangedFileTest, IsNamedWithWhatDiffers) {
  save(10000);
  text()[4095] ^= 1;
  EXPECT_EQ(check(), changed_ + "its first 4096 bytes differ" + hint_);
  text()[4095] ^= 1;
  make(five())->check(state_);
  text()[10000 - 4096] ^= 1;
  EXPECT_EQ(check(), changed_ + "its last 4096 bytes differ" + hint_);
  text().pop_back();
  EXPECT_EQ(check(), changed_ + "expected 10000 bytes, got 9999" + hint_) << "the size comes first";
  text() += "xx";
  EXPECT_EQ(check(), changed_ + "expected 10000 bytes, got 10001" + hint_);
}

TEST_F(ChangedFileTest, MayBeSmall) {
  save(12);
  text()[11] ^= 1;
  EXPECT_EQ(check(), changed_ + "its first 12 bytes differ" + hint_);
  text().clear();
  EXPECT_EQ(check(), changed_ + "expected 12 bytes, got 0" + hint_);
}

// Documented: nobody reads it all.
TEST_F(ChangedFileTest, MayChangeInTheMiddleUnnoticed) {
  save(10000);
  text()[5000] ^= 1;
  make(five())->check(state_);
}

TEST_F(ChangedFileTest, IsNamedWhenItIsMissingOrNew) {
  save(3);
  files_.files["d/x"] = "new";
  EXPECT_EQ(check(), "d/x: the file is new: it was not there when the state was saved");
  files_.files.erase("d/c");
  EXPECT_EQ(check(), "d/c: the file is gone: it was there when the state was saved");
  files_.files.erase("d/x");
  EXPECT_EQ(check(), "d/c: the file is gone: it was there when the state was saved");
  files_.files["d/c"] = "abc";
  files_.files.erase("d/e");
  EXPECT_EQ(check(), "d/e: the file is gone: it was there when the state was saved") << "the last one";
}

TEST_F(ChangedFileTest, IsReadOnceHoweverOftenAStateIsSaved) {
  save(5000);
  const auto queue = make(five());
  const int before = files_.opened;
  State first, second;
  queue->save(first);
  EXPECT_EQ(files_.opened, before + 5);
  text()[0] ^= 1;
  queue->save(second);
  queue->check(first);
  EXPECT_EQ(files_.opened, before + 5);
  EXPECT_EQ(files_.open_now, 0);
  EXPECT_EQ(first, second) << "as it was at the first time";
}

// Opens a file only when two threads want to, or after a long time.
class MeetingFiles : public MemoryFiles {
 public:
  bool meet = false;

  std::unique_ptr<File> open(const std::string& path) override {
    std::unique_lock lock(mutex_);
    if (meet) {
      ++inside_;
      changed_.notify_all();
      met_ = changed_.wait_for(lock, std::chrono::seconds(20), [&] { return inside_ >= 2; }) && met_;
    }
    return MemoryFiles::open(path);
  }
  bool met() const { return met_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool met_ = true;
};

// No lock is held while files are read.
TEST(FilenameQueue, IsSavedByTwoThreadsAtOnce) {
  MeetingFiles files;
  files.files["a"] = "text";
  const auto queue = make_op<NameSource>("filename_queue", Spec::map().set("files", "a"));
  BindArgs args;
  args.files = &files;
  queue->bind(args);
  files.meet = true;
  State first, second;
  std::thread other([&] { queue->save(second); });
  queue->save(first);
  other.join();
  EXPECT_TRUE(files.met());
  EXPECT_EQ(first, second);
}

// What could not be found unchanged cannot be saved.
TEST_F(ChangedFileTest, CannotBeSavedWhenItCannotBeRead) {
  const auto queue = make(five());
  State state;
  files_.broken.insert("d/c");
  EXPECT_EQ(error_of([&] { queue->save(state); }), "d/c: cannot read the file: Input/output error");
  files_.broken.clear();
  files_.files_at_open["d/c"] = "d";
  EXPECT_EQ(error_of([&] { queue->save(state); }),
            "d/c: the file is shorter than when the run began: expected 3 bytes, got 1; do not write to input files "
            "while they are read");
  files_.files_at_open.clear();
  queue->save(state);
  make(five())->check(state);
}

TEST_F(FilenameQueueTest, SaysWhichFilesAreMissing) {
  const auto error = [&](const Spec& patterns) { return make_error(Spec::map().set("files", patterns)); };
  EXPECT_EQ(error(Spec::scalar("d/f", true, {"c.yaml", 2, 9})),
            "c.yaml:2:9: no file matches \"d/f\"; the folder d holds a, b, c, d and e");
  files_.unreadable.insert("d/secret");
  EXPECT_EQ(error(list_of({"d/a", "d/s*"})), "d/secret: cannot open the file: Permission denied");
  EXPECT_TRUE((throws_exactly<MissingError>([&] { make(Spec::map().set("files", "d/*")); }))) << "before the run";
}

TEST_F(FilenameQueueTest, RefusesOptionsThatMakeNoSense) {
  EXPECT_THAT(make_error(Spec::map()), HasSubstr("the key files is required"));
  EXPECT_THAT(make_error(Spec::map().set("files", Spec::list())),
              HasSubstr("files: expected at least one file or pattern, got an empty list"));
  EXPECT_TRUE((throws_exactly<ConfigError>([&] { make(Spec::map().set("files", Spec::list())); })));
  EXPECT_THAT(make_error(five().set("epochs", 0)), HasSubstr("epochs: expected at least 1"));
  EXPECT_THAT(make_error(five().set("epochs", -1)), HasSubstr("epochs: expected at least 1"));
  EXPECT_THAT(make_error(five().set("suffle", true)), HasSubstr("did you mean shuffle?"));
}

TEST_F(FilenameQueueTest, OpensFilesOnlyToLook) {
  auto queue = make(five());
  EXPECT_EQ(files_.opened, 5);
  EXPECT_EQ(files_.open_now, 0);
}

}  // namespace
}  // namespace millrace
