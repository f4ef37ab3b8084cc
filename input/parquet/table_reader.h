// TableReader: reads rows of Parquet files into blocks, column after column. What several tasks need of a file is read
// once.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "millrace/core/threads/mutex.h"
#include "millrace/input/parquet/column_reader.h"
#include "millrace/input/parquet/footer.h"

namespace millrace {

struct ParquetTable {
  std::shared_ptr<const FileEntry> file;
  uint64_t rows = 0;
  uint64_t data_end = 0;  // where its pages end
  // Of all fields, in their order and in the order of the fields' values; as many for every file.
  std::vector<std::shared_ptr<const FieldColumn>> columns = {};
  std::vector<RowGroup> groups = {};

  // The row group of a row.
  const RowGroup& group_of(uint64_t row) const;
};

// Memory of a task.
struct TableScratch : ReaderScratch {
  static constexpr size_t kTileRows = 1024, kTileBytes = 128;  // of a row
  // Values from a column of the tile to the next one: with a power of two, all columns would share a few cache lines.
  static constexpr size_t kTileStride = kTileRows + 16;

  alignas(64) std::array<std::byte, kTileStride * kTileBytes> tile;
  std::vector<ColumnReader> readers;
  std::vector<uint8_t> keep;  // for who leaves rows out
};

class TableReader {
 public:
  using Open = std::function<std::shared_ptr<const File>(const FileEntry&)>;
  TableReader(std::vector<ParquetTable> tables, Open open);

  const std::vector<ParquetTable>& tables() const { return tables_; }
  // Fills the block, which has `count` rows, with the rows of file `file` from row `begin` on. scratch.faults gets the
  // rows with a value that is none. Throws DataError, without a place, if a value cannot be read at all.
  void read(size_t file, uint64_t begin, int64_t count, RowBlock& rows, TableScratch& scratch) const;

 private:
  // Neighbouring values of a field that are read together.
  struct Run {
    size_t first = 0, count = 1;  // of the columns
    bool varying = false;         // they are texts or lists
  };
  // Rows of one row group.
  struct Part {
    const ParquetTable& table;
    const RowGroup& group;
    uint64_t begin = 0;  // of the row group
    int64_t row = 0;     // of the block
    size_t count = 0;
  };
  // The chunks of a column that are being read.
  struct Slot {
    struct Chunk {
      const RowGroup* group = nullptr;
      std::shared_ptr<ColumnPages> pages;
    };
    Mutex mutex;
    std::vector<Chunk> chunks MILLRACE_GUARDED_BY(mutex);
  };

  std::shared_ptr<ColumnPages> pages_of(const Part& part, size_t column) const;
  void read_run(const Run& run, const Part& part, RowBlock& rows, TableScratch& scratch) const;
  void read_tiles(const Run& run, const Part& part, RowBlock& rows, TableScratch& scratch) const;

  const std::vector<ParquetTable> tables_;
  const Open open_;
  std::vector<Run> runs_;
  std::unique_ptr<Slot[]> slots_;
};

}  // namespace millrace
