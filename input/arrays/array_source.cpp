#include "millrace/input/arrays/array_source.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/compressed/inflated_file.h"
#include "millrace/input/files/open_files.h"

namespace millrace {

namespace {

// Compressed bytes can be read from places that are about so far apart (CompressedText::kDistance): a task reads from
// one to the next.
constexpr uint64_t kPackedUnit = CompressedText::kDistance;
// What reads it takes about as much at least.
constexpr uint64_t kPackedAlways = uint64_t{256} << 10;
// Compressed, a row takes next to nothing in a file, however large it is.
constexpr uint64_t kMostPackedRow = uint64_t{64} << 20;

// Memory of a task: rows as the file has them, and what was read of an array in columns.
struct ArrayScratch {
  std::vector<std::byte> rows, piece;
};

void read_all(const StoredArray& from, const File& file, uint64_t offset, std::span<std::byte> to) {
  const size_t got = file.read(offset, to.data(), to.size());
  if (got < to.size()) throw_shrunk(*from.file, offset + got);
}

// Of an array in columns: reads the part of each column that `count` rows have, and puts its numbers into rows.
void gather(const StoredArray& from, const File& file, uint64_t begin, size_t count, ArrayScratch& scratch) {
  const ArrayLayout& layout = from.layout;
  const size_t number = layout.numbers.bytes();
  const auto row_bytes = static_cast<size_t>(layout.row_bytes());
  scratch.piece.resize(count * number);
  for (int64_t column = 0; column < layout.row.elements(); ++column) {
    // The first axis of a row varies fastest among the columns, and the last one inside a row.
    int64_t at = 0, rest = column;
    for (int axis = 0; axis < layout.row.rank(); ++axis) {
      at = at * layout.row[axis] + rest % layout.row[axis];
      rest /= layout.row[axis];
    }
    const uint64_t first = static_cast<uint64_t>(column) * layout.rows + begin;
    read_all(from, file, from.begin + first * number, scratch.piece);
    std::byte* to = scratch.rows.data() + static_cast<size_t>(at) * number;
    for (size_t row = 0; row < count; ++row, to += row_bytes) std::memcpy(to, &scratch.piece[row * number], number);
  }
}

std::string rows_text(uint64_t rows) { return count_of(static_cast<int64_t>(rows), "row"); }

}  // namespace

std::vector<std::string> names_of_fields(const Spec& fields, std::string_view example) {
  if (!fields.is_map()) throw fields.error(cat("expected a map of fields, got ", fields.describe()), example);
  if (fields.size() == 0) throw fields.error("expected at least one field", example);
  std::vector<std::string> out;
  for (const auto& [name, value] : fields.entries()) out.push_back(name);
  return out;
}

void declare_chunk_bytes(OptionReader& o, int64_t& chunk_bytes) {
  o.optional("chunk_bytes", chunk_bytes, {.min = 1, .max = 1 << 30}, "bytes that one task reads");
  o.only_speed("chunk_bytes");
  o.used_as("chunk_bytes", OptionUse::chunk_bytes);
}

ArraySource::ArraySource(ArraySourceArgs args)
    : FileSource({.unit_bytes = args.chunk_bytes}, std::move(args.own_names)),
      fields_(std::move(args.fields)),
      lists_(args.lists) {}

Port ArraySource::open(const BindArgs&) {
  entries_ = files();
  for (const auto& file : entries_) {
    if (!file->stream) continue;
    throw ConfigError("arrays cannot be read from a pipe", {file->path}, "write the data to a file first");
  }
  for (size_t file = 0; file < named(); ++file) {
    try {
      add(file, arrays_of(file));
    } catch (Error& error) {
      error.set_place({entries_[file]->path});
      throw;
    }
  }
  if (all_rows_ == 0) throw DataError("the array has no rows", {entries_.front()->path});
  return {.type = PortType::rows, .rows = *rows_};
}

StoredArray ArraySource::stored_array(std::shared_ptr<const FileEntry> file, const ArrayPlace& place_of_array,
                                      ReadHeader read_header) const {
  StoredArray out{.file = std::move(file)};
  const auto& [compression, begin, end, unpacked_bytes] = place_of_array;
  const auto opened = [this, entry = out.file] { return open_file(*entry).file; };
  try {
    if (compression == Compression::none) {
      out.layout = read_header({*opened(), begin, end - begin});
      out.begin = begin + out.layout.begin;
    } else {
      out.unpacked = std::make_shared<UnpackedFile>(UnpackedFile::Settings{
          .open = opened, .path = out.file->path, .kind = compression, .begin = begin, .end = end});
      out.layout = read_header({*out.unpacked, 0, unpacked_bytes ? *unpacked_bytes : out.unpacked->size()});
      out.begin = out.layout.begin;
    }
  } catch (Error& error) {
    error.set_place({out.file->path});
    throw;
  }
  return out;
}

void ArraySource::check_headers(const std::vector<StoredArray>& arrays) const {
  for (size_t field = 0; field < fields_.size(); ++field) {
    const ArrayLayout &layout = arrays[field].layout, &first = arrays[0].layout;
    if (layout.rows != first.rows) {
      throw DataError(cat("the array of ", fields_[0], " has ", rows_text(first.rows), ", the array of ",
                          fields_[field], " has ", rows_text(layout.rows),
                          arrays[field].file == arrays[0].file ? "" : cat(" in ", arrays[field].file->path)));
    }
    if (arrays[field].unpacked && layout.row_bytes() > kMostPackedRow) {
      throw DataError(cat("a row of the array has ", layout.row_bytes(), " bytes; of a compressed array at most ",
                          kMostPackedRow, " are read"),
                      {arrays[field].file->path});
    }
  }
}

// Keeps the arrays of one file, if they fit to one another and to those before them.
void ArraySource::add(size_t file, std::vector<StoredArray> arrays) {
  check_headers(arrays);
  RowSpec rows;
  uint64_t row_bytes = 0;
  bool packed = false;
  for (size_t field = 0; field < fields_.size(); ++field) {
    const ArrayLayout& layout = arrays[field].layout;
    rows.fields.push_back({.name = fields_[field], .dtype = layout.numbers.dtype(), .shape = layout.row});
    row_bytes += layout.row_bytes();
    if (arrays[field].unpacked && arrays[field].block_rows == 0) {
      packed = true;
      packed_memory_ += std::min(TextResources::kOfFile, arrays[field].file->size / 2) + kPackedAlways;
    }
    if (rows_ != nullptr && rows.fields.back() != rows_->fields[field]) {
      throw DataError(cat("the field ", fields_[field], " is ", rows.fields.back().type_text(), " here, and ",
                          rows_->fields[field].type_text(), " in ", array(0, field).file->path),
                      {arrays[field].file->path});
    }
  }
  if (rows_ == nullptr) rows_ = std::make_shared<const RowSpec>(std::move(rows));
  // Files may hold the same field in types of other sizes.
  const uint64_t rows_of_a_unit = std::max<uint64_t>((packed ? kPackedUnit : unit_bytes()) / row_bytes, 1);
  unit_rows_ = file == 0 ? rows_of_a_unit : std::min(unit_rows_, rows_of_a_unit);
  all_rows_ += arrays[0].layout.rows;
  arrays_.insert(arrays_.end(), std::move_iterator(arrays.begin()), std::move_iterator(arrays.end()));
}

// Rows that a unit has as a whole, so that no block is unpacked for several units; 1 if blocks are too large for that.
uint64_t ArraySource::block_rows(size_t file) const {
  uint64_t rows = 1, row_bytes = 0;
  for (size_t field = 0; field < fields_.size(); ++field) {
    rows = std::max(rows, array(file, field).block_rows);
    row_bytes += array(file, field).layout.row_bytes();
  }
  return rows <= kPackedUnit / row_bytes ? rows : 1;
}

// Rows of a unit, at most.
uint64_t ArraySource::most_rows(size_t file) const {
  const uint64_t block = block_rows(file);
  return std::max<uint64_t>(unit_rows_ / block, 1) * block;
}

bool ArraySource::cut(Unit& unit) const {
  const uint64_t end = unit.end, first = unit.begin - unit.begin % block_rows(unit.file->index);
  unit.end = std::min(end, first + most_rows(unit.file->index));
  unit.exact = true;
  unit.line = unit.begin + 1;
  return unit.end < end;
}

void ArraySource::read(Chunk& chunk) const {
  const auto count = static_cast<int64_t>(chunk.unit.end - chunk.unit.begin);
  chunk.rows.configure(rows_, std::max<int64_t>(count, 1));
  try {
    return add_rows(chunk, count);
  } catch (const Error&) {  // below it happens again, at its row
  }
  // The rows before the one that cannot be read are given, whatever the size of a unit.
  for (int64_t row = 0; row < count; ++row) {
    try {
      add_rows(chunk, 1);
    } catch (Error& error) {
      error.set_place({chunk.unit.file->path, static_cast<int64_t>(chunk.unit.begin) + row + 1});
      throw;
    }
  }
}

// Adds the next `count` rows of the unit, or none if they cannot be read.
void ArraySource::add_rows(Chunk& chunk, int64_t count) const {
  const Unit& unit = chunk.unit;
  const int64_t first = chunk.rows.size();
  chunk.rows.resize(first + count);
  try {
    for (size_t field = 0; field < fields_.size(); ++field) read_field(field, chunk, first);
  } catch (...) {
    chunk.rows.resize(first);
    throw;
  }
  for (int64_t row = first; row < first + count; ++row) {
    const uint64_t number = unit.begin + static_cast<uint64_t>(row);
    chunk.rows.id(row) = {.source = unit.source,
                          .pass = unit.pass,
                          .file = unit.file->index,
                          .length = 1,
                          .offset = number,
                          .line = number + 1,
                          .next_line = number + 2};
  }
}

// Reads the chunk's rows from `first` on.
void ArraySource::read_field(size_t field, Chunk& chunk, int64_t first) const {
  const StoredArray& from = array(chunk.unit.file->index, field);
  const ArrayLayout& layout = from.layout;
  const auto row_bytes = static_cast<size_t>(layout.row_bytes());
  const auto count = static_cast<size_t>(chunk.rows.size() - first);
  if (count == 0) return;
  const size_t bytes = count * row_bytes;
  const uint64_t row = chunk.unit.begin + static_cast<uint64_t>(first), begin = from.begin + row * row_bytes;
  const ReadingTurn turn;
  const std::shared_ptr<const File> file = from.unpacked ? from.unpacked : open_file(*from.file).file;
  const bool as_it_is =
      layout.numbers.is_plain() && !layout.by_columns && rows_->fields[field].row_bytes() == row_bytes;
  if (as_it_is) return read_all(from, *file, begin, {chunk.rows.at(field, first), bytes});
  auto& scratch = chunk.work().get<ArrayScratch>(this);
  if (scratch.rows.size() < bytes) scratch.rows.resize(bytes);
  if (layout.by_columns) {
    gather(from, *file, row, count, scratch);
  } else {
    read_all(from, *file, begin, {scratch.rows.data(), bytes});
  }
  const auto columns = static_cast<size_t>(layout.row.elements());
  for (size_t i = 0; i < count; ++i) {
    layout.numbers.read(scratch.rows.data() + i * row_bytes, columns,
                        chunk.rows.at(field, first + static_cast<int64_t>(i)));
  }
}

ChunkBound ArraySource::chunk_bound() const {
  uint64_t most = 0, row_bytes = 0;
  for (size_t file = 0; file < named(); ++file) {
    most = std::max(most, std::min(most_rows(file), array(file, 0).layout.rows));
  }
  for (const StoredArray& one : arrays_) {
    row_bytes = std::max(row_bytes, one.layout.row_bytes() + (one.layout.by_columns ? one.layout.numbers.bytes() : 0));
  }
  return {.text_bytes = most * row_bytes, .rows = most, .records = most};
}

}  // namespace millrace
