// RecordSource: what readers of binary files share whose records all have the same length, one behind the other.
//
//   class Points final : public RecordSource {      // of a byte and two floats
//    public:
//     struct Options { .. };
//     explicit Points(const Options&) : RecordSource({.rows = kRows, .record_bytes = 9}) {}
//     void decode(const std::byte* record, RowBlock& rows, int64_t row) const override { .. }
//   };
//
// It takes names of files, cuts the files into ranges of whole records, and has as many threads as there are read and
// decode them. Order, epochs and shards are the names'; places, saving and restoring are done here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "millrace/core/export.h"
#include "millrace/input/sources/file_source.h"

namespace millrace {

struct RecordFormat {
  RowSpec rows = {};  // what comes out for a record
  uint64_t record_bytes = 1;
  uint64_t header_bytes = 0;      // to pass at the start of every file
  uint64_t chunk_bytes = 262144;  // that one task reads, about; at least a record
};

class MILLRACE_EXPORT RecordSource : public FileSource {
 public:
  // REQUIRES: record_bytes is at least 1 and less than 2^32.
  explicit RecordSource(RecordFormat format);

  // Writes the values of the record_bytes at `record` into row `row` of `rows`. Called on any thread, for several
  // records at once: constant and without side effects. A DataError gets the record's place.
  virtual void decode(const std::byte* record, RowBlock& rows, int64_t row) const = 0;

  // Throws ConfigError for a pipe; DataError for a file that is no header and whole records.
  Port open(const BindArgs& args) override;
  // A record's line is its number, counted from 1.
  bool cut(Unit& unit) const override;
  void read(Chunk& chunk) const override;
  ChunkBound chunk_bound() const override;

 private:
  void check_size(const FileEntry& file) const;
  uint64_t line_at(uint64_t offset) const { return (offset - format_.header_bytes) / format_.record_bytes + 1; }

  const RecordFormat format_;
  const SharedRowSpec rows_;
};

}  // namespace millrace
