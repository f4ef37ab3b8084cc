#include "millrace/input/parquet/footer.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/input/arrays/array_layout.h"
#include "millrace/input/compressed/compression.h"

namespace millrace {

namespace {

constexpr std::string_view kMagic = "PAR1", kEncryptedMagic = "PARE";
constexpr uint64_t kTailBytes = 8, kMostRows = uint64_t{1} << 48;

// The bounds of a chunk. Those of older files are kept in other fields, as signed numbers: of numbers without a sign
// and of texts they say nothing.
std::shared_ptr<const ColumnBounds> read_bounds(ThriftReader& reader, const ParquetColumn& column) {
  auto out = std::make_shared<ColumnBounds>();
  const bool trust_old = column.meaning == Meaning::number || column.meaning == Meaning::date ||
                         (column.meaning == Meaning::timestamp && column.stored == StoredType::int64);
  std::optional<std::string> old_least, old_greatest;
  reader.structure([&](int64_t field) {
    switch (field) {
      case 1: old_greatest = reader.text(); return;
      case 2: old_least = reader.text(); return;
      case 3: out->missing = static_cast<uint64_t>(reader.integer(0, INT64_MAX)); return;
      case 5: out->greatest = reader.text(); return;
      case 6: out->least = reader.text(); return;
      default: return reader.skip();
    }
  });
  if (trust_old && !out->greatest) out->greatest = std::move(old_greatest);
  if (trust_old && !out->least) out->least = std::move(old_least);
  return out;
}

ColumnChunk read_column_metadata(ThriftReader& reader, const ParquetColumn& column, bool with_bounds) {
  ColumnChunk out;
  int64_t codec = 0, type = 0, pages = 0, dictionary = 0;
  reader.structure([&](int64_t field) {
    switch (field) {
      case 1: type = reader.integer(); return;
      case 4: codec = reader.integer(); return;
      case 5: out.values = static_cast<uint64_t>(reader.integer(0, INT64_MAX)); return;
      case 6: out.unpacked_bytes = static_cast<uint64_t>(reader.integer(0, INT64_MAX)); return;
      case 9: pages = reader.integer(0, INT64_MAX); return;
      case 11: dictionary = reader.integer(0, INT64_MAX); return;
      case 12:
        if (!with_bounds) return reader.skip();
        out.bounds = read_bounds(reader, column);
        return;
      default: return reader.skip();
    }
  });
  if (type != static_cast<int64_t>(column.stored)) {
    throw damaged_parquet(cat("column ", quote(column.name), " has another type in a row group than in the schema"));
  }
  if (codec < 0 || codec > static_cast<int64_t>(PageCodec::lz4_raw)) {
    throw ConfigError(cat("column ", quote(column.name), " (", column.type_text(), ") is compressed by codec ", codec,
                          ", which is not known"),
                      {}, "write it with zstd or snappy");
  }
  out.codec = static_cast<PageCodec>(codec);
  // Some programs write 0 where there is no dictionary.
  out.begin = static_cast<uint64_t>(dictionary > 0 && dictionary < pages ? dictionary : pages);
  return out;
}

ColumnChunk read_column_chunk(ThriftReader& reader, const ParquetColumn& column, bool with_bounds) {
  ColumnChunk out;
  bool elsewhere = false, encrypted = false, found = false;
  reader.structure([&](int64_t field) {
    switch (field) {
      case 1: elsewhere = !reader.text().empty(); return;
      case 3:
        out = read_column_metadata(reader, column, with_bounds);
        found = true;
        return;
      case 8: encrypted = true; return reader.skip();
      default: return reader.skip();
    }
  });
  out.encrypted = encrypted;
  if (elsewhere) throw damaged_parquet(cat("the values of column ", quote(column.name), " lie in another file"));
  if (!found && !encrypted) throw damaged_parquet(cat("a row group says nothing of column ", quote(column.name)));
  return out;
}

}  // namespace

std::string_view to_string(PageCodec codec) {
  constexpr std::string_view kNames[] = {"none", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4_raw"};
  return kNames[static_cast<size_t>(codec)];
}

ParquetFooter::ParquetFooter(const File& file, uint64_t size) {
  const FileRange range{file, 0, size};
  const std::string head = range.read(0, kMagic.size());
  if (head == kEncryptedMagic) throw ConfigError("the Parquet file is encrypted", {}, "write it without encryption");
  if (head != kMagic) throw DataError("this is no Parquet file", {}, other_format_hint(range));
  const std::string tail = size < kTailBytes + kMagic.size() ? "" : range.read(size - kTailBytes, kTailBytes);
  if (!tail.ends_with(kMagic)) throw damaged_parquet("its end is missing");
  const uint64_t length = little_endian(std::string_view(tail).substr(0, 4));
  if (length > size - kTailBytes - kMagic.size()) throw damaged_parquet("its metadata are longer than the file");
  data_end_ = size - kTailBytes - length;
  bytes_ = range.read(data_end_, static_cast<size_t>(length));
  ThriftReader reader(bytes_);
  bool has_schema = false;
  reader.structure([&](int64_t field) {
    switch (field) {
      case 2:
        columns_ = read_schema(reader);
        has_schema = true;
        return;
      case 3: rows_ = static_cast<uint64_t>(reader.integer(0, kMostRows)); return;
      default: return reader.skip();
    }
  });
  if (!has_schema) throw damaged_parquet("it has no schema");
}

std::vector<RowGroup> ParquetFooter::row_groups(std::span<const ParquetColumn* const> columns, bool with_bounds) const {
  // The chunks come in the order of the schema, the columns in any order.
  std::vector<size_t> order(columns.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return columns[i]->leaf; });
  std::vector<RowGroup> out;
  ThriftReader reader(bytes_);
  const auto read_chunks = [&](RowGroup& group) {
    group.chunks.resize(columns.size());
    size_t leaf = 0, next = 0;
    reader.list([&] {
      if (next == order.size() || columns[order[next]]->leaf != leaf++) return reader.skip();
      const ColumnChunk chunk = read_column_chunk(reader, *columns[order[next]], with_bounds);
      for (; next < order.size() && columns[order[next]]->leaf + 1 == leaf; ++next) group.chunks[order[next]] = chunk;
    });
    if (next < order.size()) throw damaged_parquet("a row group lacks columns of the schema");
  };
  uint64_t rows = 0;
  reader.structure([&](int64_t field) {
    if (field != 4) return reader.skip();
    reader.list([&] {
      RowGroup& group = out.emplace_back(RowGroup{.first_row = rows});
      reader.structure([&](int64_t of_group) {
        switch (of_group) {
          case 1: return read_chunks(group);
          case 3: group.rows = static_cast<uint64_t>(reader.integer(0, kMostRows)); return;
          default: return reader.skip();
        }
      });
      if (group.chunks.size() != columns.size()) throw damaged_parquet("a row group has no columns");
      for (size_t i = 0; i < columns.size() && group.rows > 0; ++i) check(group.chunks[i], *columns[i], group.rows);
      rows += group.rows;
      if (rows > rows_) throw_rows();
    });
  });
  if (rows != rows_) throw_rows();
  return out;
}

// Throws what is wrong with a chunk that cannot be read.
void ParquetFooter::check(const ColumnChunk& chunk, const ParquetColumn& column, uint64_t rows) const {
  const std::string name = cat("column ", quote(column.name), " (", column.type_text(), ")");
  if (chunk.encrypted) throw ConfigError(cat(name, " is encrypted"), {}, "write it without encryption");
  if (chunk.codec == PageCodec::lzo || chunk.codec == PageCodec::brotli || chunk.codec == PageCodec::lz4) {
    throw ConfigError(cat(name, " is compressed by ", to_string(chunk.codec), ", which is not read"), {},
                      "write it with zstd or snappy");
  }
  if (chunk.begin < kMagic.size() || chunk.begin > data_end_) {
    throw damaged_parquet(cat("the values of ", name, " lie outside of it"));
  }
  if (column.is_list ? chunk.values < rows : chunk.values != rows) {
    throw damaged_parquet(cat(name, " has ", chunk.values, " values in a row group of ", rows, " rows"));
  }
}

void ParquetFooter::throw_rows() const {
  throw damaged_parquet("its row groups have other numbers of rows than it says");
}

}  // namespace millrace
