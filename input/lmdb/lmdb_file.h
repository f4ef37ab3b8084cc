// An LMDB file, read as its pages say, without liblmdb: that trusts every page, maps the file into memory and writes to
// its lock file. Here every number is checked, a file that is cut or damaged is an error, and nothing is written.
//
// A file is read as its last transaction before the start left it. LMDB keeps the pages of the last transaction but
// one, so what was read is whole if there was no newer transaction when the reading ended; check_unchanged() says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/input/files/file_system.h"
#include "millrace/input/lmdb/lmdb_page.h"

namespace millrace {

// An open file, with what its meta page says. It owns nothing.
class LmdbFile {
 public:
  // Reads the meta pages. Throws DataError, without a place, if this is no database of LMDB.
  LmdbFile(const File& file, const FileEntry& entry);
  // A file that was looked at before.
  LmdbFile(const File& file, const FileEntry& entry, const LmdbMeta& meta) : file_(file), entry_(entry), meta_(meta) {}

  const LmdbMeta& meta() const { return meta_; }
  // Reads into `memory`. Throws DataError if the database has no such page, or if it lies beyond the end of the file.
  LmdbPage page(uint64_t number, std::string& memory) const;
  // The big value of a node. Throws DataError if it is not all there, or larger than `most` bytes.
  std::string_view big_value(const LmdbNode& node, uint64_t most, std::string& memory) const;
  // Throws DataError unless the run of the node's value may be in the file.
  void check_big(const LmdbNode& node) const;
  // Calls visit(LmdbPage) for all leaves of the tree, in order.
  void for_each_leaf(const LmdbTree& tree, const std::function<void(const LmdbPage&)>& visit) const;
  // The databases in the main one, by name.
  std::vector<std::pair<std::string, LmdbTree>> databases() const;
  // The database `name`. Throws DataError if there is none, and names those that there are.
  LmdbTree find(std::string_view name) const;
  // Throws IoError if another program has changed the database.
  void check_unchanged() const;

 private:
  void read(uint64_t page, std::string& memory, size_t bytes) const;

  const File& file_;
  const FileEntry& entry_;
  LmdbMeta meta_;
};

// The records of a tree by number, in the order of their keys. It holds 8 bytes for each leaf page.
class LmdbIndex {
 public:
  LmdbIndex() = default;
  // Goes through all leaves, and checks them. Throws DataError.
  LmdbIndex(const LmdbFile& file, const LmdbTree& tree);

  uint64_t rows() const { return rows_; }
  uint64_t most_bytes() const { return most_bytes_; }  // of a value
  uint64_t keys_hash() const { return keys_hash_; }
  uint64_t bytes() const { return (leaves_.capacity() + begins_.capacity()) * sizeof(uint64_t); }

  // Memory to read records with.
  struct Memory {
    uint64_t page = 0;  // that `leaf` has; 0: none
    std::string leaf, value;
  };
  struct Record {
    std::string_view key, value;
  };
  // Record `row`, whose views hold until `memory` is used again; without `with_value` only its key. REQUIRES: row <
  // rows(), and the memory is of this tree alone.
  Record read(const LmdbFile& file, uint64_t row, Memory& memory, bool with_value = true) const;

 private:
  static constexpr size_t kStride = 64;

  std::vector<uint64_t> leaves_;  // number of the page, times 65536, and of its records
  std::vector<uint64_t> begins_;  // the first record of every kStride-th leaf
  uint64_t rows_ = 0, most_bytes_ = 0, keys_hash_ = 0;
};

// "user17" if the key is text, else its bytes: "0x00000011".
std::string lmdb_key_text(std::string_view key);

}  // namespace millrace
