#include "millrace/input/lmdb/lmdb_page.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/input/lmdb/lmdb_bytes.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::lmdb_file;
using testing_support::number_bytes;

// Pages of 256 bytes: the leaf of the main database is page 2, or the page after a big value.
std::string file() { return lmdb_file({{"", {{"a", "1"}, {"bc", "second"}, {"d", std::string(300, 'x')}}}}, 256); }

std::string page(const std::string& bytes, size_t number) { return bytes.substr(256 * number, 256); }

std::string with(std::string bytes, size_t at, const std::string& instead) {
  return bytes.replace(at, instead.size(), instead);
}

TEST(LmdbMeta, SaysWhatTheFileHas) {
  const std::string bytes = file();
  const LmdbMeta old = LmdbMeta::read(bytes), meta = LmdbMeta::read(page(bytes, 1));
  EXPECT_EQ(old.transaction, 6u);
  EXPECT_EQ(old.main.root, LmdbTree::kNone);
  EXPECT_EQ(meta.transaction, 7u);
  EXPECT_EQ(meta.page_bytes, 256u);
  EXPECT_EQ(meta.pages, 5u);
  EXPECT_EQ(meta.main.rows, 3u);
  EXPECT_EQ(meta.main.root, 4u);
  EXPECT_EQ(meta.main.flags, 0u);
}

TEST(LmdbMeta, RefusesWhatIsNoDatabase) {
  const std::string none =
      "this is no LMDB database that this machine can read; was the file cut short, or written by another sort of "
      "machine?";
  const auto error = [](const std::string& bytes) { return error_of([&] { LmdbMeta::read(bytes); }); };
  const std::string meta = page(file(), 1);
  EXPECT_EQ(error(meta), "no error");
  EXPECT_EQ(error(""), none);
  EXPECT_EQ(error(meta.substr(0, LmdbMeta::kBytes - 1)), none);
  EXPECT_EQ(error(page(file(), 4)), none) << "a leaf";
  EXPECT_EQ(error(with(meta, 16, "\xbe\xef\xc0\xde")), none) << "of a machine with another order of bytes";
  EXPECT_EQ(error(with(meta, 20, number_bytes(2, 4))),
            "the database is in format 2 of LMDB, format 1 (LMDB 0.9) is read");
  const std::string damaged = "page 1 of the database is damaged; copy the database with mdb_copy, or write it again";
  for (const uint64_t size : {0u, 1u, 128u, 300u, 131072u})
    EXPECT_EQ(error(with(meta, 40, number_bytes(size, 4))), damaged);
  EXPECT_EQ(error(with(meta, 136, number_bytes(uint64_t{1} << 47, 8))), damaged);
}

TEST(LmdbPage, HasItsEntries) {
  const std::string bytes = page(file(), 4);
  const LmdbPage leaf(bytes, 4);
  EXPECT_TRUE(leaf.is_leaf());
  ASSERT_EQ(leaf.nodes(), 3u);
  const LmdbNode second = leaf.node(1), big = leaf.node(2);
  EXPECT_EQ(second.key, "bc");
  EXPECT_EQ(second.value, "second");
  EXPECT_EQ(second.bytes, 6u);
  EXPECT_EQ(second.flags, 0u);
  EXPECT_EQ(big.key, "d");
  EXPECT_EQ(big.value, "");
  EXPECT_EQ(big.bytes, 300u);
  EXPECT_EQ(big.flags, LmdbNode::kBig);
  EXPECT_EQ(big.page, 2u);
  EXPECT_EQ(lmdb_run_pages(page(file(), 2), 2), 2u);
}

TEST(LmdbPage, KnowsTheSubtreesOfABranch) {
  std::vector<std::pair<std::string, std::string>> records;
  for (int i = 0; i < 40; ++i) records.emplace_back(cat(100 + i), "value");
  const std::string bytes = lmdb_file({{"", records}}, 256);
  const LmdbMeta meta = LmdbMeta::read(page(bytes, 1));
  const std::string root = page(bytes, meta.main.root);
  const LmdbPage branch(root, meta.main.root);
  EXPECT_FALSE(branch.is_leaf());
  ASSERT_GT(branch.nodes(), 2u);
  for (size_t i = 0; i < branch.nodes(); ++i) EXPECT_EQ(branch.node(i).page, 2 + i);
  EXPECT_EQ(branch.node(0).key, "");
  EXPECT_GT(branch.node(1).key, "100");
}

TEST(LmdbPage, BelievesNoNumberThatLeadsOut) {
  const std::string damaged = "page 4 of the database is damaged; copy the database with mdb_copy, or write it again";
  const std::string good = page(file(), 4);
  const auto error = [](const std::string& bytes, size_t node = 0) {
    return error_of([&] { static_cast<void>(LmdbPage(bytes, 4).node(node)); });
  };
  EXPECT_EQ(error(good), "no error");
  EXPECT_EQ(error(with(good, 0, number_bytes(5, 8))), damaged) << "another page";
  EXPECT_EQ(error(with(good, 10, number_bytes(4, 2))), damaged) << "a big value";
  EXPECT_EQ(error(with(good, 10, number_bytes(0x22, 2))), damaged) << "of values of one length";
  EXPECT_EQ(error(with(good, 10, number_bytes(0x12, 2))), "no error") << "a mark of a page in memory";
  EXPECT_EQ(error(with(good, 12, number_bytes(15, 2))), damaged) << "too few entries";
  EXPECT_EQ(error(with(good, 12, number_bytes(257, 2))), damaged) << "too many";
  EXPECT_EQ(error(with(good, 16, number_bytes(20, 2))), damaged) << "an entry among the places";
  EXPECT_EQ(error(with(good, 16, number_bytes(249, 2))), damaged) << "one that begins at the end";
  const size_t second = static_cast<unsigned char>(good[18]);
  EXPECT_EQ(error(with(good, second + 6, number_bytes(200, 2)), 1), damaged) << "its key";
  EXPECT_EQ(error(with(good, second, number_bytes(200, 4)), 1), damaged) << "its value";
  EXPECT_EQ(error(with(good, second, number_bytes(UINT32_MAX, 4)), 1), damaged) << "its value";
  const size_t first = static_cast<unsigned char>(good[16]);
  EXPECT_EQ(error(with(good, first + 4, number_bytes(1, 2))), damaged) << "no room for the place of a big value";
  EXPECT_EQ(error_of([&] { lmdb_run_pages(good, 4); }), damaged);
}

}  // namespace
}  // namespace millrace
