// The pages of an LMDB file (format 1, as all of LMDB 0.9 write it), as their bytes say. Nothing in them is believed
// before it is compared with the size of the page, so any bytes may come. Pure functions.
//
// A file has two meta pages, then pages of trees. A tree's leaves hold its records, sorted by key; large values lie in
// runs of pages of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "millrace/core/errors.h"

namespace millrace {

inline constexpr size_t kLmdbPageHeader = 16, kMostLmdbPage = 65536;

// A tree of records: the main database, or one that has a name in it.
struct LmdbTree {
  static constexpr uint16_t kReversedKeys = 2, kDuplicates = 4, kIntegerKeys = 8;  // MDB_REVERSEKEY, ..
  static constexpr uint64_t kNone = UINT64_MAX;
  static constexpr size_t kBytes = 48;

  uint16_t flags = 0;
  uint64_t rows = 0;
  uint64_t root = kNone;  // its page

  // REQUIRES: kBytes bytes.
  static LmdbTree read(std::string_view bytes);
};

// What a meta page says of the file.
struct LmdbMeta {
  static constexpr size_t kBytes = kLmdbPageHeader + 24 + 2 * LmdbTree::kBytes + 16;

  uint64_t page_bytes = 0;
  uint64_t pages = 0;        // of which the trees may speak
  uint64_t transaction = 0;  // every change of the data has a greater one
  LmdbTree main = {};

  // `bytes` are those of a meta page, or fewer at the end of the file. Throws DataError if it is none.
  static LmdbMeta read(std::string_view bytes);
};

// An entry of a page.
struct LmdbNode {
  static constexpr uint16_t kBig = 1, kTree = 2, kDuplicates = 4;

  std::string_view key = {};    // empty in the first entry of a branch
  std::string_view value = {};  // in a leaf; empty if it is big
  uint16_t flags = 0;           // in a leaf
  uint64_t page = 0;            // in a branch: of the subtree; of a big value: its first
  uint64_t bytes = 0;           // in a leaf: of the value
};

class LmdbPage {
 public:
  // The page `number`. Throws DataError if it is no branch and no leaf. The bytes must outlive it.
  LmdbPage(std::string_view bytes, uint64_t number);

  uint64_t number() const { return number_; }
  bool is_leaf() const { return leaf_; }
  size_t nodes() const { return nodes_; }
  // REQUIRES: index < nodes(). Throws DataError if the entry does not lie in the page.
  LmdbNode node(size_t index) const;

 private:
  std::string_view bytes_;
  uint64_t number_ = 0;
  size_t nodes_ = 0;
  bool leaf_ = false;
};

// How many pages the run of a big value has, whose first page begins with these bytes. Throws DataError if it is none.
uint64_t lmdb_run_pages(std::string_view bytes, uint64_t number);

// An error without a place.
DataError damaged_lmdb_page(uint64_t number);

}  // namespace millrace
