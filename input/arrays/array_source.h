// ArraySource: the rows of arrays, row i of several arrays together. A format says where the arrays of a file lie; this
// class reads and converts them. Offsets are numbers of rows, and the place of a row is its file and its number from 1.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/options.h"
#include "millrace/input/arrays/array_layout.h"
#include "millrace/input/compressed/compression.h"
#include "millrace/input/source.h"

namespace millrace {

// The names in an option `fields`. Throws ConfigError, with `example` as a hint, if it is no map or has none.
std::vector<std::string> names_of_fields(const Spec& fields, std::string_view example);
void declare_chunk_bytes(OptionReader& o, int64_t& chunk_bytes);

using ReadHeader = ArrayLayout (*)(const FileRange& range);

// An array, as its file has it.
struct StoredArray {
  std::shared_ptr<const FileEntry> file;
  std::shared_ptr<const File> unpacked = nullptr;  // what lies compressed in the file; null: the file itself
  uint64_t begin = 0;                              // of the first number, in these bytes
  ArrayLayout layout = {};
  // How many rows `unpacked` unpacks together, from a multiple of this number on; 0: it is best read in long runs.
  uint64_t block_rows = 0;
};

// Where an array lies in a file, with its header.
struct ArrayPlace {
  Compression compression = Compression::none;
  uint64_t begin = 0, end = 0;
  std::optional<uint64_t> unpacked_bytes = {};  // absent: all are unpacked to count them
};

struct ArraySourceArgs {
  std::vector<std::string> fields;  // an array each
  uint64_t chunk_bytes = 262144;    // about what one task reads; at least one row
  size_t lists = 1;                 // NamedFiles::lists
  std::unique_ptr<NameSource> own_names = nullptr;
};

class ArraySource : public FileSource {
 public:
  explicit ArraySource(ArraySourceArgs args);

  // Throws ConfigError for a pipe, and DataError if arrays of one row differ in their rows, or one field's in their
  // types.
  Port open(const BindArgs& args) override;
  bool cut(Unit& unit) const override;
  uint64_t end_of(const FileEntry& file) const override { return array(file.index, 0).layout.rows; }
  void read(Chunk& chunk) const override;
  ChunkBound chunk_bound() const override;
  uint64_t memory_bound() const override { return packed_memory_; }

 protected:
  // The arrays of entries()[index], a named file, one for each field, in their order. An error without a place gets the
  // file.
  virtual std::vector<StoredArray> arrays_of(size_t index) const = 0;
  // files()
  const std::vector<std::shared_ptr<const FileEntry>>& entries() const { return entries_; }
  size_t named() const { return entries_.size() / lists_; }
  // Opens the file, and reads the header of an array in it. An error without a place gets the file.
  StoredArray stored_array(std::shared_ptr<const FileEntry> file, const ArrayPlace& place_of_array,
                           ReadHeader read_header) const;
  // Whether the headers of the arrays of one file fit to one another; open() does it, too. Throws DataError.
  void check_headers(const std::vector<StoredArray>& arrays) const;

 private:
  const StoredArray& array(size_t file, size_t field) const { return arrays_[file * fields_.size() + field]; }
  void add(size_t file, std::vector<StoredArray> arrays);
  uint64_t block_rows(size_t file) const;
  uint64_t most_rows(size_t file) const;
  void add_rows(Chunk& chunk, int64_t count) const;
  void read_field(size_t field, Chunk& chunk, int64_t first) const;

  const std::vector<std::string> fields_;
  const size_t lists_;
  std::vector<std::shared_ptr<const FileEntry>> entries_;
  std::vector<StoredArray> arrays_;  // of file 0, then of file 1, and so on
  SharedRowSpec rows_;
  uint64_t unit_rows_ = 1, all_rows_ = 0, packed_memory_ = 0;
};

}  // namespace millrace
