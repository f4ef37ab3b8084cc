#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/input/arrays/array_bytes.h"
#include "tests/input/graph_check.h"
#include "tests/input/lmdb/lmdb_bytes.h"

namespace millrace {
namespace {

using testing_support::bytes_of_numbers;
using testing_support::error_of;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::lmdb_file;
using testing_support::LmdbBytes;
using testing_support::LmdbContent;
using testing_support::MemoryFiles;
using testing_support::npy_array;

class LmdbReaderTest : public ::testing::Test {
 protected:
  LmdbReaderTest() { files_.folders.insert("d"); }

  // x has `rows` records of two bytes, the number of the record twice; y of a number of 32 bits, the number squared.
  static std::vector<LmdbContent> both(int rows) {
    LmdbContent x{.name = "x"}, y{.name = "y"};
    for (int i = 0; i < rows; ++i) {
      x.records.emplace_back(key(i), std::string(2, static_cast<char>(i)));
      y.records.emplace_back(key(i), bytes_of_numbers<int>({i * i}));
    }
    return {x, y};
  }
  static std::string key(int i) { return cat("k", 100 + i); }
  static std::string line(int i) { return cat("d/data.mdb:", key(i), " x=", i, ',', i, " y=", i * i); }
  static constexpr const char* kBoth = "{x: {db: x, type: uint8, size: 2}, y: {db: y, type: int32}}";

  void put(const std::vector<LmdbContent>& contents) { files_.files["d/data.mdb"] = lmdb_file(contents, 512); }
  GraphCheck check(const std::string& options, int batch = 1, const std::string& fields = kBoth, uint64_t seed = 23) {
    return {files_,
            cat("- lmdb_reader: {path: d, fields: ", fields, ", ", options,
                "}\n- batch: {allow_smaller_final_batch: true, batch_size: ", batch, "}\n"),
            seed};
  }
  std::string build_error(const std::string& fields = kBoth, const std::string& options = "epochs: 1") {
    return error_of([&] { check(options, 1, fields).graph(); });
  }
  // The rows without the lines between batches.
  static Lines rows_of(Lines lines) {
    std::erase(lines, "--");
    return lines;
  }

  MemoryFiles files_;
};

TEST_F(LmdbReaderTest, JoinsRecordsOfEqualKeysInTheirOrder) {
  put(both(60));
  Lines expected;
  for (int i = 0; i < 60; ++i) expected.push_back(line(i));
  for (const char* chunk : {"1", "40", "262144"}) {
    EXPECT_EQ(rows_of(check(cat("shuffle: false, epochs: 1, chunk_bytes: ", chunk), 7).check()), expected) << chunk;
  }
}

TEST_F(LmdbReaderTest, ShufflesAllRowsAnewInEveryEpoch) {
  put(both(60));
  const Lines rows = rows_of(check("epochs: 3", 9).check());
  ASSERT_EQ(rows.size(), 180u);
  std::vector<Lines> passes;
  for (auto at = rows.begin(); at != rows.end(); at += 60) passes.emplace_back(at, at + 60);
  EXPECT_NE(passes[0], passes[1]);
  EXPECT_NE(passes[1], passes[2]);
  for (Lines& pass : passes) {
    std::ranges::sort(pass);
    for (int i = 0; i < 60; ++i) EXPECT_EQ(pass[static_cast<size_t>(i)], line(i));
  }
  EXPECT_EQ(rows_of(check("epochs: 3, chunk_bytes: 1", 9).run()), rows);
  EXPECT_NE(rows_of(check("epochs: 3", 9, kBoth, 24).run()), rows) << "another seed";
}

TEST_F(LmdbReaderTest, ShardsShareOutTheRowsOfEveryEpoch) {
  put(both(10));
  for (const std::string shuffle : {"true", "false"}) {
    Lines rows;
    for (int index = 0; index < 3; ++index) {
      const Lines part =
          rows_of(check(cat("epochs: 2, shuffle: ", shuffle, ", shard: {index: ", index, ", count: 3}"), 2).check());
      EXPECT_EQ(part.size(), index == 0 ? 8u : 6u);
      rows.insert(rows.end(), part.begin(), part.end());
    }
    std::ranges::sort(rows);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(rows[static_cast<size_t>(i)], line(i / 2));
  }
  EXPECT_EQ(build_error(kBoth, "shard: {index: 10, count: 11}"),
            "input.yaml:1:23: shard 10 of 11 is empty: there are 10 rows");
}

// A window of other ops holds rows by their numbers, in whatever order they came.
TEST_F(LmdbReaderTest, ItsRowsAreFoundAgainFromAWindow) {
  put(both(40));
  const GraphCheck graph(files_,
                         cat("- lmdb_reader: {path: d, epochs: 2, fields: ", kBoth,
                             "}\n- hold_out: {share: 0.3}\n- shuffle_batch: {batch_size: 5, min_after_dequeue: 9}\n"));
  const Lines rows = rows_of(graph.check());
  // Rows are held out by what they are, not by when they come.
  const std::set<std::string> different(rows.begin(), rows.end());
  EXPECT_LT(different.size(), 40u);
  EXPECT_GE(2 * different.size(), rows.size());
  EXPECT_LE(2 * different.size(), rows.size() + 4) << "but for a last batch that is not full";
}

TEST_F(LmdbReaderTest, SaysWhatShareItHasRead) {
  put(both(40));
  Pipeline pipeline(check("epochs: 1, chunk_bytes: 24", 10).graph(), {});
  RowBlock slot = pipeline.make_slot();
  double before = 0;
  for (int batch = 1; pipeline.next(slot) > 0; ++batch) {
    const double share = pipeline.share().value_or(-1);
    EXPECT_GE(share, before);
    EXPECT_NEAR(share, batch / 4.0, 0.11);
    before = share;
  }
  EXPECT_EQ(pipeline.share(), 1.0);
}

TEST_F(LmdbReaderTest, ReadsTheMainDatabaseOfAFile) {
  LmdbContent main;
  for (int i = 0; i < 5; ++i) main.records.emplace_back(std::string("\0\0\0", 3) + static_cast<char>(i), cat(i, "ab"));
  files_.files["one.mdb"] = lmdb_file({main});
  const GraphCheck graph(
      files_,
      "- lmdb_reader: {path: one.mdb, shuffle: false, epochs: 1, fields: {text: {type: string, offset: "
      "1}, x: {type: int8, offset: 0}}}\n- batch: {batch_size: 5}\n");
  Lines expected;
  for (int i = 0; i < 5; ++i) expected.push_back(cat("one.mdb:0x0000000", i, " text=\"ab\" x=", 48 + i));
  EXPECT_EQ(graph.check(), expected);
}

TEST_F(LmdbReaderTest, ReadsArraysOfNumPy) {
  LmdbContent x{.name = "x"};
  for (int i = 0; i < 3; ++i) {
    x.records.emplace_back(key(i), npy_array("<f4", "(2, 1)", bytes_of_numbers<float>({0.5F, static_cast<float>(i)})));
  }
  put({x});
  EXPECT_EQ(check("shuffle: false, epochs: 1", 3, "{x: {db: x, type: npy}}").check(),
            (Lines{"d/data.mdb:k100 x=0.5,0", "d/data.mdb:k101 x=0.5,1", "d/data.mdb:k102 x=0.5,2"}));
}

TEST_F(LmdbReaderTest, ReadsValuesThatHavePagesOfTheirOwn) {
  LmdbContent x{.name = "x"};
  for (int i = 0; i < 4; ++i) x.records.emplace_back(key(i), std::string(3000, static_cast<char>('a' + i)));
  put({x});
  EXPECT_EQ(check("shuffle: false, epochs: 1", 1, "{x: {db: x, type: uint8, offset: 2999}}").check(),
            (Lines{"d/data.mdb:k100 x=97", "--", "d/data.mdb:k101 x=98", "--", "d/data.mdb:k102 x=99", "--",
                   "d/data.mdb:k103 x=100"}));
}

TEST_F(LmdbReaderTest, ABadValueIsAnErrorAtItsKey) {
  std::vector<LmdbContent> contents = both(5);
  contents[0].records[3].second = "xyz";
  put(contents);
  EXPECT_EQ(rows_of(check("shuffle: false, epochs: 1").check()),
            (Lines{line(0), line(1), line(2), "error d/data.mdb:k103: the value of x has 3 bytes, expected 2"}));
  contents = both(1);
  contents[1].records[0].second = "no array";
  put(contents);
  EXPECT_EQ(
      build_error("{y: {db: y, type: npy}}"),
      "d/data.mdb:k100: the value is no array of NumPy; a picture or a text has type: string; numbers have their own");
}

TEST_F(LmdbReaderTest, NamesAKeyWithoutAPartner) {
  std::vector<LmdbContent> contents = both(30);
  contents[1].records.erase(contents[1].records.begin() + 7);
  put(contents);
  EXPECT_EQ(build_error(), "d/data.mdb: the key k107 is in the database \"x\", but not in the database \"y\"");
  contents = both(30);
  contents[0].records.pop_back();
  put(contents);
  EXPECT_EQ(build_error(), "d/data.mdb: the key k129 is in the database \"y\", but not in the database \"x\"");
  contents = both(3);
  contents[0].records[1].first = "k1015";
  put(contents);
  EXPECT_EQ(build_error(), "d/data.mdb: the key k1015 is in the database \"x\", but not in the database \"y\"");
  contents = both(3);
  std::swap(contents[0].records[1].first, contents[0].records[2].first);
  put(contents);
  EXPECT_EQ(build_error(), "d/data.mdb: the database \"y\" has its keys in another order than the database \"x\"");
}

TEST_F(LmdbReaderTest, SaysWhatIsNotThere) {
  put(both(2));
  EXPECT_EQ(build_error("{x: {db: xx, type: uint8}}"),
            "d/data.mdb: database \"xx\": there is no database \"xx\"; it has x and y");
  EXPECT_EQ(build_error("{x: {type: uint8}}"),
            "d/data.mdb: the main database holds others; name one of them: db: x or y");
  put({{.name = "x"}});
  EXPECT_EQ(build_error("{x: {db: x, type: uint8}}"), "d/data.mdb: the database \"x\" has no rows");
  files_.files["d/data.mdb"] = "1,2\n";
  EXPECT_EQ(build_error(), "d/data.mdb: this is no LMDB database; the file looks like text: csv_reader reads CSV");
  files_.files["d/data.mdb"] = std::string("\0\1", 2);
  EXPECT_EQ(build_error().substr(0, 48), "d/data.mdb: this is no LMDB database that this m");
  files_.files.erase("d/data.mdb");
  files_.files["d/lock.mdb"] = "";
  EXPECT_EQ(build_error(), "input.yaml:1:23: no file matches \"d/data.mdb\"; the folder d holds lock.mdb");
}

TEST_F(LmdbReaderTest, RefusesOptionsThatMakeNoSense) {
  put(both(2));
  const auto has = [&](const std::string& fields, const std::string& text, const std::string& options = "epochs: 1") {
    const std::string error = build_error(fields, options);
    EXPECT_NE(error.find(text), std::string::npos) << error;
  };
  has("{x: {db: x}}", "type");
  has("{x: {db: x, type: float}}", "did you mean float");
  has("{x: {db: x, type: npy, size: 2}}", "the value says by itself how much it holds; leave size out");
  has("{x: {db: x, type: uint8, size: [1, 1, 1, 1, 1, 1]}}", "expected 1 to 5 numbers, got 6");
  has("{x: {db: x, type: uint8}, z: {db: x, type: uint8, offset: 1}}",
      "several fields read the database \"x\", but not all of them have an offset; say where in a value each field "
      "begins");
  has("{x: {db: x, type: uint8, offset: 0}, z: {db: x, type: uint8}}", "not all of them have an offset");
  has("{}", "expected at least one field");
  EXPECT_NE(error_of([&] {
              GraphCheck(files_, cat("- lmdb_reader: {path: [d, d], fields: ", kBoth, "}\n")).graph();
            }).find("expected one database, got 2; mix and interleave join readers"),
            std::string::npos);
}

TEST_F(LmdbReaderTest, MemoryFollowsTheFile) {
  put(both(40));
  const uint64_t few = check("epochs: 1, chunk_bytes: 100").graph().memory_bound(2);
  files_.files["d/data.mdb"] = lmdb_file(both(120), 512);
  const uint64_t more = check("epochs: 1, chunk_bytes: 100").graph().memory_bound(2);
  EXPECT_GT(more, few) << "places of leaves";
  EXPECT_LT(more - few, 120u * 16);
}

TEST_F(LmdbReaderTest, NoticesThatTheDatabaseHasChanged) {
  put(both(9));
  Pipeline pipeline(check("epochs: 1, chunk_bytes: 1", 1).graph(), {});
  RowBlock slot = pipeline.make_slot();
  ASSERT_GT(pipeline.next(slot), 0);
  const State state = pipeline.save();
  files_.files["d/data.mdb"] = LmdbBytes(512).file(both(9), 8);
  EXPECT_EQ(
      error_of([&] {
        while (pipeline.next(slot) > 0) {
        }
      }),
      "d/data.mdb: another program has changed the database since the run began; let it end before, or read a copy "
      "that mdb_copy makes");
  Pipeline later(check("epochs: 1, chunk_bytes: 1", 1).graph(), {});
  const std::string error = error_of([&] { later.restore(state); });
  EXPECT_NE(error.find("has changed since the state was saved"), std::string::npos) << error;
}

TEST_F(LmdbReaderTest, RefusesTheStateOfAnotherTransaction) {
  files_.files["d/data.mdb"] = LmdbBytes(4096).file(both(9), 7, true);
  Pipeline pipeline(check("epochs: 1").graph(), {});
  RowBlock slot = pipeline.make_slot();
  ASSERT_GT(pipeline.next(slot), 0);
  const State state = pipeline.save();
  // Only the second meta page, which no hash of the ends covers, tells.
  files_.files["d/data.mdb"].replace(4096 + 16, 136, files_.files["d/data.mdb"].substr(16, 136));
  files_.files["d/data.mdb"].replace(4096 + 144, 8, testing_support::number_bytes(8, 8));
  Pipeline later(check("epochs: 1").graph(), {});
  EXPECT_EQ(
      error_of([&] { later.restore(state); }),
      "d/data.mdb: the database has changed since the state was saved; a run goes on only with the data that it began "
      "with");
}

}  // namespace
}  // namespace millrace
