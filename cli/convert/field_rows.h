// FieldRows: takes rows, and gives back one field at a time: its values of all rows, one after another.
//
// Values wait in a file without a name, so that memory does not grow with the rows. There they lie in groups of rows,
// in each group one field after another. One thread uses a FieldRows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/input/files/atomic_file.h"
#include "millrace/input/rows/row_block.h"

namespace millrace::cli {

class FieldRows {
 public:
  static constexpr size_t kGroupBytes = size_t{4} << 20;

  // The file lies in the folder of `path`, which its errors name. A group has about `group_bytes`, and twice as much is
  // held in memory. REQUIRES: the size of no field varies.
  FieldRows(const RowSpec& spec, std::string path, size_t group_bytes = kGroupBytes);

  void add(const RowSpan& span);  // throws IoError
  uint64_t rows() const { return groups_ * group_rows_ + held_; }
  // Of the values of a field: how many bytes they have, and their checksum.
  uint64_t bytes(size_t field) const { return rows() * fields_[field].bytes; }
  uint32_t crc(size_t field) const;
  // Calls use(bytes) with the values of a field, in pieces, until it returns false. Returns what the last call did;
  // true if there was none. Throws IoError.
  bool read(size_t field, FunctionRef<bool(std::string_view)> use);

 private:
  struct Field {
    size_t bytes = 0;  // of a row
    size_t begin = 0;  // in a group
    uint32_t crc = 0;  // of the whole groups
  };

  // The values in the group that is being filled.
  std::string_view held(const Field& field) const;
  void write_group();

  const std::string path_;
  std::vector<Field> fields_;
  size_t group_rows_ = 0, held_ = 0;
  uint64_t groups_ = 0;      // whole ones, which are in the file
  std::vector<char> group_;  // the one that is being filled
  std::optional<AtomicFile> file_;
};

}  // namespace millrace::cli
