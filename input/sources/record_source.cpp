#include "millrace/input/source.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/compressed/compression.h"
#include "millrace/input/files/foreign_file.h"
#include "millrace/input/files/open_files.h"

namespace millrace {

namespace {

// The bytes of the whole records that one task reads. The id of a row has 32 bits for the length of its record.
uint64_t bytes_of_whole_records(const RecordFormat& format) {
  constexpr uint64_t most = std::numeric_limits<uint32_t>::max();
  if (format.record_bytes < 1 || format.record_bytes > most) {
    throw ConfigError(cat("expected records of 1 to ", most, " bytes, got ", format.record_bytes));
  }
  return std::max<uint64_t>(format.chunk_bytes / format.record_bytes, 1) * format.record_bytes;
}

std::string byte_count(uint64_t bytes) { return count_of(static_cast<int64_t>(bytes), "byte"); }

}  // namespace

RecordSource::RecordSource(RecordFormat format)
    : FileSource({.unit_bytes = bytes_of_whole_records(format)}),
      format_(std::move(format)),
      rows_(std::make_shared<const RowSpec>(format_.rows)) {}

Port RecordSource::open(const BindArgs&) {
  for (const auto& file : files()) check_size(*file);
  return {.type = PortType::rows, .rows = format_.rows};
}

void RecordSource::check_size(const FileEntry& file) const {
  if (file.stream) {
    throw ConfigError("records of one length cannot be read from a pipe", {file.path},
                      "write the data to a file first");
  }
  char start[kMagicBytes];
  const std::string_view magic(start, open_file(file).file->read(0, start, sizeof start));
  if (compression_of(magic) != Compression::none) {
    const auto foreign = foreign_file(magic);
    throw DataError("records cannot be read from a compressed file", {file.path},
                    foreign ? foreign->binary_hint() : "");
  }
  const uint64_t header = format_.header_bytes, record = format_.record_bytes;
  const std::string expected = cat("expected ", header == 0 ? "" : cat("a header of ", byte_count(header), " and "),
                                   "records of ", byte_count(record), ", got a file of ", byte_count(file.size));
  if (file.size < header) throw DataError(expected, {file.path});
  const uint64_t records = (file.size - header) / record, rest = (file.size - header) % record;
  if (rest == 0) return;
  throw DataError(cat(expected, ": ", count_of(static_cast<int64_t>(records), "record"), " and ", rest, " of the ",
                      record, " bytes of another"),
                  {file.path, static_cast<int64_t>(records + 1)});
}

bool RecordSource::cut(Unit& unit) const {
  const uint64_t end = unit.end, first = std::max(unit.begin, format_.header_bytes);
  unit.end = std::min(end, first + unit_bytes());
  unit.exact = true;
  unit.line = line_at(first);
  return unit.end < end;
}

void RecordSource::read(Chunk& chunk) const {
  const Unit& unit = chunk.unit;
  // The first unit of a file begins with the header.
  const uint64_t begin = std::max(unit.begin, format_.header_bytes), bytes = unit.end - begin;
  const auto count = static_cast<int64_t>(bytes / format_.record_bytes);
  chunk.rows.configure(rows_, std::max<int64_t>(count, 1));
  if (count == 0) return;
  auto& records = chunk.work().get<std::vector<std::byte>>(this);
  records.resize(bytes);
  {
    const ReadingTurn turn;
    const size_t got = open_file(*unit.file).file->read(begin, records.data(), bytes);
    if (got < bytes) throw_shrunk(*unit.file, begin + got);
  }
  for (int64_t row = 0; row < count; ++row) {
    chunk.rows.resize(row + 1);
    const uint64_t at = static_cast<uint64_t>(row) * format_.record_bytes, line = line_at(begin + at);
    chunk.rows.id(row) = {.source = unit.source,
                          .pass = unit.pass,
                          .file = unit.file->index,
                          .length = static_cast<uint32_t>(format_.record_bytes),
                          .offset = begin + at,
                          .line = line,
                          .next_line = line + 1};
    try {
      decode(records.data() + at, chunk.rows, row);
    } catch (const DataError&) {
      const Place where = place(chunk.rows.id(row));
      chunk.rows.resize(row);
      return chunk.fail(std::current_exception(), where);
    }
  }
}

ChunkBound RecordSource::chunk_bound() const {
  const uint64_t records = unit_bytes() / format_.record_bytes;
  return {.text_bytes = unit_bytes(), .rows = records, .records = records};
}

}  // namespace millrace
