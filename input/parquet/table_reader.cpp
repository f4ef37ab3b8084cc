#include "millrace/input/parquet/table_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "millrace/core/errors.h"

namespace millrace {

namespace {

// Chunks of a column whose pages may be in memory.
constexpr size_t kMostChunks = 2;

// Puts a square of a tile into rows.
void store_square(const uint32_t* tile, std::byte* to, size_t stride) {
  using Four = uint32_t __attribute__((vector_size(16)));
  Four a, b, c, d;
  std::memcpy(&a, tile, sizeof a);
  std::memcpy(&b, tile + TableScratch::kTileStride, sizeof b);
  std::memcpy(&c, tile + 2 * TableScratch::kTileStride, sizeof c);
  std::memcpy(&d, tile + 3 * TableScratch::kTileStride, sizeof d);
  const Four ac_low = __builtin_shufflevector(a, c, 0, 4, 1, 5), ac_high = __builtin_shufflevector(a, c, 2, 6, 3, 7);
  const Four bd_low = __builtin_shufflevector(b, d, 0, 4, 1, 5), bd_high = __builtin_shufflevector(b, d, 2, 6, 3, 7);
  const Four rows[] = {
      __builtin_shufflevector(ac_low, bd_low, 0, 4, 1, 5), __builtin_shufflevector(ac_low, bd_low, 2, 6, 3, 7),
      __builtin_shufflevector(ac_high, bd_high, 0, 4, 1, 5), __builtin_shufflevector(ac_high, bd_high, 2, 6, 3, 7)};
  for (size_t row = 0; row < 4; ++row) std::memcpy(to + row * stride, &rows[row], sizeof rows[row]);
}
void store_square(const uint64_t* tile, std::byte* to, size_t stride) {
  for (size_t row = 0; row < 2; ++row) {
    const uint64_t line[] = {tile[row], tile[TableScratch::kTileStride + row]};
    std::memcpy(to + row * stride, line, sizeof line);
  }
}

// Puts `count` rows of a tile, whose columns lie one after another, into rows that are `stride` bytes apart.
template <class Word>
void store(const Word* tile, size_t columns, size_t count, std::byte* to, size_t stride) {
  constexpr size_t kSide = sizeof(Word) == 1 ? 1 : 16 / sizeof(Word);
  const size_t square_rows = count - count % kSide, square_columns = columns - columns % kSide;
  const auto store_one = [&](size_t row, size_t column) {
    std::memcpy(to + row * stride + column * sizeof(Word), &tile[column * TableScratch::kTileStride + row],
                sizeof(Word));
  };
  for (size_t row = 0; row < square_rows; row += kSide) {
    for (size_t column = 0; column < square_columns; column += kSide) {
      if constexpr (kSide > 1) {
        store_square(&tile[column * TableScratch::kTileStride + row], to + row * stride + column * sizeof(Word),
                     stride);
      } else {
        store_one(row, column);
      }
    }
    for (size_t column = square_columns; column < columns; ++column) {
      for (size_t i = 0; i < kSide; ++i) store_one(row + i, column);
    }
  }
  for (size_t row = square_rows; row < count; ++row) {
    for (size_t column = 0; column < columns; ++column) store_one(row, column);
  }
}

void store_tile(const std::byte* tile, size_t size, size_t columns, size_t count, std::byte* to, size_t stride) {
  switch (size) {
    case 1: return store(reinterpret_cast<const uint8_t*>(tile), columns, count, to, stride);
    case 4: return store(reinterpret_cast<const uint32_t*>(tile), columns, count, to, stride);
    default: return store(reinterpret_cast<const uint64_t*>(tile), columns, count, to, stride);
  }
}

bool is_varying(const FieldColumn& column) { return column.field().spec.text || column.column().is_list; }

}  // namespace

const RowGroup& ParquetTable::group_of(uint64_t row) const {
  return *(std::ranges::upper_bound(groups, row, {}, &RowGroup::first_row) - 1);
}

TableReader::TableReader(std::vector<ParquetTable> tables, Open open)
    : tables_(std::move(tables)), open_(std::move(open)) {
  const auto& columns = tables_.front().columns;
  slots_ = std::make_unique<Slot[]>(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    const FieldColumn& column = *columns[i];
    const bool varying = is_varying(column);
    const size_t most = TableScratch::kTileBytes / column.value_bytes();
    Run* const last = runs_.empty() ? nullptr : &runs_.back();
    // The texts of a field come one after another into its rows.
    const bool joins = last != nullptr && last->varying == varying && (varying || last->count < most) &&
                       columns[last->first]->field_number() == column.field_number();
    if (joins) {
      ++last->count;
    } else {
      runs_.push_back({i, 1, varying});
    }
  }
}

void TableReader::read(size_t file, uint64_t begin, int64_t count, RowBlock& rows, TableScratch& scratch) const {
  const ParquetTable& table = tables_[file];
  scratch.faults.clear();
  scratch.varying.clear();
  rows.clear_varying();
  // Tasks begin with different columns, so that not all of them wait for one page.
  const size_t turn = static_cast<size_t>(begin / static_cast<uint64_t>(count));
  for (int64_t row = 0; row < count;) {
    const uint64_t at = begin + static_cast<uint64_t>(row);
    const RowGroup& group = table.group_of(at);
    const uint64_t left = std::min<uint64_t>(group.first_row + group.rows - at, static_cast<uint64_t>(count - row));
    const Part part{table, group, at - group.first_row, row, static_cast<size_t>(left)};
    for (size_t i = 0; i < runs_.size(); ++i) read_run(runs_[(turn + i) % runs_.size()], part, rows, scratch);
    row += static_cast<int64_t>(left);
  }
}

std::shared_ptr<ColumnPages> TableReader::pages_of(const Part& part, size_t column) const {
  Slot& slot = slots_[column];
  const MutexLock lock(slot.mutex);
  const auto found = std::ranges::find(slot.chunks, &part.group, &Slot::Chunk::group);
  if (found != slot.chunks.end()) return found->pages;
  if (slot.chunks.size() == kMostChunks) slot.chunks.erase(slot.chunks.begin());
  ColumnPages::Settings settings = {.open = [this, file = part.table.file] { return open_(*file); },
                                    .entry = part.table.file,
                                    .data_end = part.table.data_end,
                                    .chunk = part.group.chunks[column],
                                    .rows = part.group.rows,
                                    .column = part.table.columns[column]};
  slot.chunks.push_back({&part.group, std::make_shared<ColumnPages>(std::move(settings))});
  return slot.chunks.back().pages;
}

void TableReader::read_run(const Run& run, const Part& part, RowBlock& rows, TableScratch& scratch) const {
  if (!run.varying) return read_tiles(run, part, rows, scratch);
  for (size_t i = run.first; i < run.first + run.count; ++i) {
    try {
      ColumnReader reader(pages_of(part, i), part.begin);
      reader.read_varying(part.count, rows, part.row, scratch);
      reader.finish();
    } catch (Error& error) {
      error.add_context(part.table.columns[i]->name());
      throw;
    }
  }
}

void TableReader::read_tiles(const Run& run, const Part& part, RowBlock& rows, TableScratch& scratch) const {
  const FieldColumn& first = *part.table.columns[run.first];
  const size_t size = first.value_bytes(), field = first.field_number();
  scratch.readers.clear();
  for (size_t i = 0; i < run.count; ++i) scratch.readers.emplace_back(pages_of(part, run.first + i), part.begin);
  const size_t stride = rows.spec().fields[field].row_bytes();
  for (size_t done = 0; done < part.count; done += TableScratch::kTileRows) {
    const size_t some = std::min(part.count - done, TableScratch::kTileRows);
    const int64_t row = part.row + static_cast<int64_t>(done);
    for (size_t i = 0; i < run.count; ++i) {
      try {
        std::byte* const column = scratch.tile.data() + i * TableScratch::kTileStride * size;
        scratch.readers[i].read_numbers(some, column, row, scratch);
      } catch (Error& error) {
        error.add_context(part.table.columns[run.first + i]->name());
        throw;
      }
    }
    store_tile(scratch.tile.data(), size, run.count, some, rows.at(field, row) + first.element() * size, stride);
  }
  for (ColumnReader& reader : scratch.readers) reader.finish();
  scratch.readers.clear();
}

}  // namespace millrace
