#include "millrace/input/parquet/column_pages.h"

#include <algorithm>
#include <utility>

#include "millrace/core/crc32.h"
#include "millrace/core/text.h"
#include "millrace/input/files/open_files.h"
#include "millrace/input/parquet/thrift_reader.h"

namespace millrace {

namespace {

// Bytes that are read to find a header, first; and as many as a header may have.
constexpr uint64_t kHeaderBytes = 1024, kMostHeaderBytes = uint64_t{16} << 20;
// Of a chunk, pages of which rows were not read yet; and places in a page from which tasks go on.
constexpr size_t kMostLoaded = 4, kMostPlaces = 64;

DataError cut_short() { return damaged_parquet("a page is cut short"); }

}  // namespace

PageHeader ColumnPages::read_header(uint64_t offset, PageReadScratch& scratch) const {
  for (uint64_t bytes = kHeaderBytes;; bytes *= 8) {
    const uint64_t wanted = std::min(bytes, settings_.data_end - offset);
    scratch.packed.resize(std::max(scratch.packed.size(), static_cast<size_t>(wanted)));
    size_t got = 0;
    {
      const ReadingTurn turn;
      got = settings_.open()->read(offset, scratch.packed.data(), static_cast<size_t>(wanted));
    }
    if (const auto header = read_page_header({scratch.packed.data(), got})) return *header;
    if (got < wanted) throw_shrunk(*settings_.entry, offset + got);
    if (wanted < bytes || bytes >= kMostHeaderBytes) throw cut_short();
  }
}

// The page as it was before it was compressed. Its levels, in the second version, never are.
PageBytes ColumnPages::read_page(const PageHeader& header, uint64_t offset, PageReadScratch& scratch) const {
  const size_t packed_bytes = header.packed_bytes, bytes = header.bytes;
  const PageCodec codec = header.packed ? settings_.chunk.codec : PageCodec::none;
  if (packed_bytes > settings_.data_end - offset) throw cut_short();
  PageBytes out;
  scratch.packed.resize(std::max(scratch.packed.size(), packed_bytes));
  char* to = scratch.packed.data();
  if (codec == PageCodec::none) {
    if (bytes != packed_bytes) throw damaged_parquet("a page that is not compressed has two sizes");
    out.reserve(bytes);
    to = reinterpret_cast<char*>(out.data());
  }
  const std::shared_ptr<const File> file = settings_.open();
  {
    const ReadingTurn turn;
    const size_t got = file->read(offset, to, packed_bytes);
    if (got < packed_bytes) throw_shrunk(*settings_.entry, offset + got);
  }
  if (header.crc && crc32_of({to, packed_bytes}) != *header.crc) {
    throw damaged_parquet(cat("the checksum of the page at byte ", offset, " is not what the file says"));
  }
  if (codec == PageCodec::none) return out;
  const size_t levels = size_t{header.repetition_bytes} + header.definition_bytes;
  const size_t plain = header.second_version ? levels : 0;
  out.reserve(plain);
  std::copy_n(to, plain, reinterpret_cast<char*>(out.data()));
  const PackedBytes packed{*file, settings_.entry, offset + plain, {to + plain, packed_bytes - plain}};
  // No values at all may be left out, header and all.
  if (bytes > plain) scratch.unpacker.unpack(codec, packed, bytes - plain, out, plain);
  return out;
}

// Finds the next data page. False after the last one. An error changes nothing.
bool ColumnPages::locate(PageReadScratch& scratch) {
  while (entries_ < settings_.chunk.values) {
    if (next_ >= settings_.data_end) throw cut_short();
    Located found{.header = read_header(next_, scratch), .first_row = rows_};
    const PageHeader& header = found.header;
    found.begin = next_ + header.header_bytes;
    if (header.packed_bytes > settings_.data_end - found.begin) throw cut_short();
    if (header.kind == PageHeader::Kind::dictionary && dictionary_ == nullptr) {
      dictionary_ =
          column().dictionary(read_page(header, found.begin, scratch), header.bytes, header.entries, scratch.values);
    }
    const bool data = header.kind == PageHeader::Kind::data && header.entries > 0;
    if (data && header.entries > settings_.chunk.values - entries_) {
      throw damaged_parquet("its pages have more values than it");
    }
    // Only the levels tell how many lists a page has.
    if (data && column().column().is_list) found.page = read(found, scratch);
    if (data) found.rows = found.page != nullptr ? found.page->count_rows() : header.entries;
    if (found.rows > settings_.rows - rows_) throw damaged_parquet("its pages have more rows than its row group");
    if (found.page != nullptr && entries_ == 0 && found.page->begins_within_row()) {
      throw damaged_parquet("its first list has no beginning");
    }
    next_ = found.begin + header.packed_bytes;
    if (!data) continue;
    entries_ += header.entries;
    rows_ += found.rows;
    pages_.push_back(std::move(found));
    if (pages_.back().page != nullptr) count_loaded(pages_.size() - 1);
    return true;
  }
  return false;
}

std::shared_ptr<const Page> ColumnPages::read(const Located& located, PageReadScratch& scratch) const {
  return std::make_shared<const Page>(column().column(), located.header,
                                      read_page(located.header, located.begin, scratch), dictionary_);
}

const std::shared_ptr<const Page>& ColumnPages::load(size_t number, PageReadScratch& scratch) {
  Located& located = pages_[number];
  if (located.page == nullptr) {
    located.page = read(located, scratch);
    count_loaded(number);
  }
  return located.page;
}

void ColumnPages::count_loaded(size_t number) {
  ++loaded_;
  for (size_t i = 0; loaded_ > kMostLoaded && i < number; ++i) drop(pages_[i]);
}

void ColumnPages::drop(Located& located) {
  if (located.page == nullptr) return;
  located.page = nullptr;
  located.rows_read = 0;
  located.places.clear();
  --loaded_;
}

ColumnPages::Spot ColumnPages::at(uint64_t row, PageReadScratch& scratch) {
  const MutexLock lock(mutex_);
  while (rows_ <= row) {
    if (!locate(scratch)) throw damaged_parquet("it has fewer values than rows");
  }
  const auto found = std::ranges::upper_bound(pages_, row, {}, &Located::first_row) - 1;
  const auto number = static_cast<size_t>(found - pages_.begin());
  Spot out{.page = load(number, scratch), .number = number, .end = found->first_row + found->rows};
  Located& located = pages_[number];
  const auto place = std::ranges::upper_bound(located.places, row, {}, &PageCursor::row);
  out.cursor = place == located.places.begin() ? out.page->begin(located.first_row) : *(place - 1);
  if (place != located.places.begin() && out.cursor.row == row) return out;
  out.page->pass_rows(out.cursor, row - out.cursor.row, scratch);
  add_place(located, out.cursor);
  return out;
}

ColumnPages::Spot ColumnPages::after(const Spot& spot, PageReadScratch& scratch) {
  const MutexLock lock(mutex_);
  const size_t number = spot.number + 1;
  if (number == pages_.size() && !locate(scratch)) return {};
  const std::shared_ptr<const Page>& page = load(number, scratch);
  const Located& located = pages_[number];
  return {page, number, located.first_row + located.rows, page->begin(located.first_row)};
}

void ColumnPages::leave(Spot&& spot, uint64_t rows) {
  const MutexLock lock(mutex_);
  Located& located = pages_[spot.number];
  located.rows_read += rows;
  if (located.rows_read >= located.rows) return drop(located);
  if (located.page != spot.page) return;
  // Nobody is likely to begin again where this reader did.
  const uint64_t row = spot.cursor.row;
  const auto begin = std::ranges::lower_bound(located.places, row - rows, {}, &PageCursor::row);
  const auto end = std::ranges::lower_bound(located.places, row, {}, &PageCursor::row);
  if (begin != end) {
    *begin = std::move(spot.cursor);
    located.places.erase(begin + 1, end);
  } else {
    add_place(located, std::move(spot.cursor));
  }
}

void ColumnPages::add_place(Located& located, PageCursor cursor) {
  const auto after = std::ranges::lower_bound(located.places, cursor.row, {}, &PageCursor::row);
  if (after != located.places.end() && after->row == cursor.row) return;
  located.places.insert(after, std::move(cursor));
  if (located.places.size() > kMostPlaces) located.places.erase(located.places.begin());
}

}  // namespace millrace
