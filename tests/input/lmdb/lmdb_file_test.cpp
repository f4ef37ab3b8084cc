#include "millrace/input/lmdb/lmdb_file.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/input/lmdb/lmdb_bytes.h"
#include "tests/input/op_testing.h"
#include "tests/support/paths.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using testing_support::bytes_of_numbers;
using testing_support::BytesFile;
using testing_support::error_of;
using testing_support::lmdb_file;
using testing_support::LmdbBytes;
using testing_support::number_bytes;
using Records = std::vector<std::pair<std::string, std::string>>;

Records many(int count, int step = 1) {
  Records out;
  for (int i = 0; i < count; ++i)
    out.emplace_back(cat(100000 + i * step),
                     std::string(static_cast<size_t>(i * 7 % 300), static_cast<char>('a' + i % 26)));
  return out;
}

// A file in memory, opened.
struct Opened {
  explicit Opened(const std::string& bytes, uint64_t size = 0)
      : file(bytes), entry{.path = "d", .size = size == 0 ? bytes.size() : size}, lmdb(file, entry) {}
  BytesFile file;
  FileEntry entry;
  LmdbFile lmdb;
};

Records all_of(const LmdbFile& file, const LmdbTree& tree) {
  const LmdbIndex index(file, tree);
  LmdbIndex::Memory memory;
  Records out;
  for (uint64_t row = 0; row < index.rows(); ++row) {
    const LmdbIndex::Record record = index.read(file, row, memory);
    out.emplace_back(record.key, record.value);
  }
  return out;
}

TEST(LmdbFile, HasTheRecordsOfItsDatabases) {
  const Records x = many(3000), y = many(70, 3);
  for (const size_t page : {256u, 512u, 4096u, 32768u, 65536u}) {
    const Opened opened(lmdb_file({{"x", x}, {"y", y}, {"none", {}}}, page));
    EXPECT_EQ(all_of(opened.lmdb, opened.lmdb.find("x")), x) << page;
    EXPECT_EQ(all_of(opened.lmdb, opened.lmdb.find("y")), y) << page;
    EXPECT_TRUE(all_of(opened.lmdb, opened.lmdb.find("none")).empty());
  }
  const Opened main(lmdb_file({{"", x}}));
  EXPECT_EQ(all_of(main.lmdb, main.lmdb.meta().main), x);
}

// Written by python-lmdb: scripts/make-format-fixtures.
TEST(LmdbFile, ReadsWhatPythonLmdbWrites) {
  const std::string folder = test::source_dir() + "/tests/data/formats/lmdb/";
  const Opened named(TempFolder::read(folder + "named.mdb"));
  Records x, y;
  for (int i = 0; i < 30; ++i) {
    const std::string key = cat(i < 10 ? "000" : "00", i);
    x.emplace_back(key, std::string{static_cast<char>(i), static_cast<char>(i + 1)});
    y.emplace_back(key, number_bytes(static_cast<uint64_t>(i * i), 4));
  }
  EXPECT_EQ(all_of(named.lmdb, named.lmdb.find("x")), x);
  EXPECT_EQ(all_of(named.lmdb, named.lmdb.find("y")), y);
  const Opened arrays(TempFolder::read(folder + "arrays.mdb"));
  const Records found = all_of(arrays.lmdb, arrays.lmdb.meta().main);
  ASSERT_EQ(found.size(), 2u);
  for (uint64_t i = 1; i <= 2; ++i) {
    std::vector<int16_t> numbers;
    for (uint64_t k = 0; k < 1200; ++k) numbers.push_back(static_cast<int16_t>(i + k));
    EXPECT_EQ(found[i - 1].first, number_bytes(i, 4, true));
    EXPECT_TRUE(found[i - 1].second.ends_with(bytes_of_numbers(numbers, true)));
    EXPECT_TRUE(found[i - 1].second.starts_with("\x93NUMPY"));
  }
}

TEST(LmdbFile, TakesTheLastTransaction) {
  for (const bool first : {false, true}) {
    const Opened opened(LmdbBytes(512).file({{"", many(20)}}, 9, first));
    EXPECT_EQ(opened.lmdb.meta().transaction, 9u);
    EXPECT_EQ(all_of(opened.lmdb, opened.lmdb.meta().main), many(20));
  }
}

TEST(LmdbFile, SaysWhichDatabasesThereAre) {
  const Opened opened(lmdb_file({{"images", {}}, {"labels", {}}}));
  EXPECT_EQ(error_of([&] { opened.lmdb.find("label"); }), "there is no database \"label\"; did you mean labels?");
  EXPECT_EQ(error_of([&] { opened.lmdb.find("y"); }), "there is no database \"y\"; it has images and labels");
  EXPECT_EQ(error_of([&] { LmdbIndex(opened.lmdb, opened.lmdb.meta().main); }),
            "the main database holds others; name one of them: db: images or labels");
  const Opened main(lmdb_file({{"", many(3)}}));
  EXPECT_EQ(error_of([&] { main.lmdb.find("x"); }),
            "there is no database \"x\"; there is only the main one: leave db out");
  std::vector<testing_support::LmdbContent> lots;
  for (int i = 10; i < 35; ++i) lots.push_back({cat("x", i), {}});
  const Opened crowded(lmdb_file(lots));
  const std::string error = error_of([&] { crowded.lmdb.find("label"); });
  EXPECT_TRUE(error.ends_with("x28, x29 and 5 more")) << error;
}

TEST(LmdbFile, RefusesSeveralValuesForAKey) {
  const Opened opened(lmdb_file({{"x", many(3), LmdbTree::kDuplicates}}));
  EXPECT_EQ(error_of([&] { LmdbIndex(opened.lmdb, opened.lmdb.find("x")); }),
            "a key has several values (MDB_DUPSORT), expected one for each key");
}

// All cuts of a file are errors, but those that take only what no record needs.
TEST(LmdbFile, RefusesEveryCutOfAFile) {
  const std::string bytes = lmdb_file({{"", many(40)}}, 256);
  for (size_t size = 1; size < bytes.size(); size += 61) {
    const std::string error = error_of([&] {
      const Opened opened(bytes.substr(0, size));
      LmdbIndex(opened.lmdb, opened.lmdb.meta().main);
    });
    EXPECT_TRUE(error.ends_with("was the file cut short?") || error.starts_with("this is no LMDB database")) << error;
  }
}

TEST(LmdbFile, TellsAFileThatShrinksFromOneThatIsCut) {
  const std::string bytes = lmdb_file({{"", many(40)}}, 256);
  EXPECT_THROW(
      {
        const Opened opened(bytes.substr(0, bytes.size() / 2), bytes.size());
        LmdbIndex(opened.lmdb, opened.lmdb.meta().main);
      },
      IoError);
}

TEST(LmdbFile, FollowsNoPageRoundInCircles) {
  std::string bytes = lmdb_file({{"", many(40)}}, 256);
  const uint64_t root = LmdbMeta::read(bytes.substr(256)).main.root;
  const size_t branch = static_cast<size_t>(root) * 256;
  const size_t first = static_cast<unsigned char>(bytes[branch + 16]);
  bytes.replace(branch + first, 4, number_bytes(root, 4));
  const Opened opened(bytes);
  EXPECT_EQ(error_of([&] { LmdbIndex(opened.lmdb, opened.lmdb.meta().main); }).substr(0, 5 + cat(root).size()),
            cat("page ", root));
}

TEST(LmdbFile, ComparesWhatThereIsWithWhatTheTreeSays) {
  std::string bytes = lmdb_file({{"", many(5)}}, 4096);
  bytes.replace(4096 + 88 + 32, 8, number_bytes(6, 8));
  const Opened opened(bytes);
  EXPECT_EQ(error_of([&] { LmdbIndex(opened.lmdb, opened.lmdb.meta().main); }),
            "the database says that it has 6 records, but 5 are there");
}

TEST(LmdbFile, ABigValueIsWhereItsRecordSays) {
  const std::string good = lmdb_file({{"", {{"a", std::string(300, 'x')}}}}, 256);
  const auto error = [](const std::string& bytes) {
    return error_of([&] {
      const Opened opened(bytes);
      all_of(opened.lmdb, opened.lmdb.meta().main);
    });
  };
  EXPECT_EQ(error(good), "no error");
  std::string bytes = good;
  bytes[2 * 256 + 10] = 2;
  EXPECT_EQ(error(bytes).substr(0, 18), "page 2 of the data") << "no page of a big value";
  bytes = good;
  bytes[2 * 256 + 12] = 1;
  EXPECT_EQ(error(bytes).substr(0, 18), "page 2 of the data") << "a shorter run";
  const size_t leaf = 4 * 256, node = leaf + static_cast<unsigned char>(good[leaf + 16]);
  bytes = good;
  bytes[node + 9] = 4;
  EXPECT_EQ(error(bytes).substr(0, 18), "page 4 of the data") << "the run would end after the last page";
  bytes[node + 9] = 120;
  EXPECT_EQ(error(bytes).substr(0, 20), "page 120 of the data");
}

TEST(LmdbFile, NoticesAnotherTransaction) {
  const std::string bytes = lmdb_file({{"", many(3)}});
  const Opened before(bytes);
  EXPECT_EQ(error_of([&] { before.lmdb.check_unchanged(); }), "no error");
  const std::string later = LmdbBytes().file({{"", many(3)}}, 8);
  const BytesFile file(later);
  EXPECT_THROW(LmdbFile(file, before.entry, before.lmdb.meta()).check_unchanged(), IoError);
}

TEST(LmdbIndex, HoldsAFewBytesForEachLeaf) {
  const Opened opened(lmdb_file({{"", many(3000)}}, 512));
  const LmdbIndex index(opened.lmdb, opened.lmdb.meta().main);
  EXPECT_EQ(index.rows(), 3000u);
  EXPECT_EQ(index.most_bytes(), 299u);
  EXPECT_LT(index.bytes(), opened.entry.size / 512 * 20);
}

TEST(LmdbIndex, HashesTheKeysOnly) {
  const auto hash = [](const Records& records) {
    const Opened opened(lmdb_file({{"", records}}));
    return LmdbIndex(opened.lmdb, opened.lmdb.meta().main).keys_hash();
  };
  EXPECT_EQ(hash({{"a", "1"}, {"bc", "2"}}), hash({{"a", "x"}, {"bc", "yy"}}));
  EXPECT_NE(hash({{"a", ""}, {"bc", ""}}), hash({{"ab", ""}, {"c", ""}}));
}

TEST(LmdbKey, IsTextOrBytes) {
  EXPECT_EQ(lmdb_key_text("00000017"), "00000017");
  EXPECT_EQ(lmdb_key_text("caf\xc3\xa9 1"), "caf\xc3\xa9 1");
  EXPECT_EQ(lmdb_key_text(std::string("\0\0\1\xff", 4)), "0x000001ff");
  EXPECT_EQ(lmdb_key_text("a\n"), "0x610a");
  EXPECT_EQ(lmdb_key_text("\xc3"), "0xc3");
  EXPECT_EQ(lmdb_key_text(""), "0x");
}

}  // namespace
}  // namespace millrace
