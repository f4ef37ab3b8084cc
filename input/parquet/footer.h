// ParquetFooter: what a Parquet file says of itself, at its end: its columns, and where the values of each lie. Every
// place in it is checked against the file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/input/files/file_system.h"
#include "millrace/input/parquet/schema.h"

namespace millrace {

// How the pages of a column are compressed; the numbers are those of the format.
enum class PageCodec : uint8_t { none, snappy, gzip, lzo, brotli, lz4, zstd, lz4_raw };
std::string_view to_string(PageCodec codec);

// The least and the greatest value of a chunk, as they are stored, and how many are missing, if the file says so.
struct ColumnBounds {
  std::optional<std::string> least = {}, greatest = {};
  std::optional<uint64_t> missing = {};
};

// The values of a column in a row group: pages, one after another.
struct ColumnChunk {
  PageCodec codec = PageCodec::none;
  bool encrypted = false;
  uint64_t begin = 0;                                    // of the first page, in the file
  uint64_t values = 0;                                   // of all pages; missing ones count
  uint64_t unpacked_bytes = 0;                           // of all pages, by what the file says; only good for estimates
  std::shared_ptr<const ColumnBounds> bounds = nullptr;  // if they were asked for
};

struct RowGroup {
  uint64_t first_row = 0;  // of the file
  uint64_t rows = 0;
  std::vector<ColumnChunk> chunks = {};
};

class ParquetFooter {
 public:
  // Reads the end of a file. Throws ConfigError for a file that is encrypted; DataError if it is no Parquet file, or
  // damaged. Errors have no place.
  ParquetFooter(const File& file, uint64_t size);

  const std::vector<ParquetColumn>& columns() const { return columns_; }
  uint64_t rows() const { return rows_; }
  // Where the pages end.
  uint64_t data_end() const { return data_end_; }
  // The row groups, each with the chunks of these columns. `with_bounds`: with their least and greatest values. Throws
  // as the constructor does.
  std::vector<RowGroup> row_groups(std::span<const ParquetColumn* const> columns, bool with_bounds) const;

 private:
  void check(const ColumnChunk& chunk, const ParquetColumn& column, uint64_t rows) const;
  [[noreturn]] void throw_rows() const;

  std::string bytes_;
  uint64_t data_end_ = 0, rows_ = 0;
  std::vector<ParquetColumn> columns_;
};

}  // namespace millrace
