#include "millrace/input/parquet/page_values.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/input/parquet/thrift_reader.h"

namespace millrace {

namespace {

bool is_dictionary(PageEncoding encoding) {
  return encoding == PageEncoding::plain_dictionary || encoding == PageEncoding::rle_dictionary;
}

// Whether values of this type may be written like this.
bool may_be(StoredType stored, PageEncoding encoding) {
  const bool integers = stored == StoredType::int32 || stored == StoredType::int64;
  const bool texts = stored == StoredType::bytes;
  switch (encoding) {
    case PageEncoding::plain: return true;
    case PageEncoding::plain_dictionary:
    case PageEncoding::rle_dictionary: return stored != StoredType::boolean;
    case PageEncoding::rle: return stored == StoredType::boolean;
    case PageEncoding::delta_binary_packed: return integers;
    case PageEncoding::delta_length_byte_array: return texts;
    case PageEncoding::delta_byte_array: return texts || stored == StoredType::fixed;
    case PageEncoding::byte_stream_split:
      return integers || stored == StoredType::float32 || stored == StoredType::float64 || stored == StoredType::fixed;
  }
  return false;
}

DataError beyond_dictionary() { return damaged_parquet("a page refers to a value that its dictionary lacks"); }
DataError too_few() { return damaged_parquet("a page has fewer values than it says"); }

// The first bytes of all values come first, then all second ones, and so on.
template <size_t kWidth>
void join_streams(const std::byte* from, size_t distance, size_t count, std::byte* to, size_t width = kWidth) {
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < (kWidth > 0 ? kWidth : width); ++k) to[i * width + k] = from[k * distance + i];
  }
}

}  // namespace

PageValues::PageValues(const ParquetColumn& column, PageEncoding encoding, std::span<const std::byte> bytes,
                       std::shared_ptr<const Dictionary> dictionary, uint64_t most)
    : stored_(column.stored), encoding_(encoding), width_(column.width), most_(most), bytes_(bytes) {
  if (!may_be(stored_, encoding)) {
    throw damaged_parquet(cat("a page has ", column.type_text(), " in the encoding ", static_cast<int>(encoding)));
  }
  if (!is_dictionary(encoding)) return;
  if (dictionary == nullptr) throw damaged_parquet("a page refers to a dictionary that is missing");
  dictionary_ = std::move(dictionary);
}

ValueCursor PageValues::begin() const {
  ValueCursor out{.at = bytes_.data()};
  switch (encoding_) {
    case PageEncoding::plain:
    case PageEncoding::byte_stream_split: break;
    case PageEncoding::plain_dictionary:
    case PageEncoding::rle_dictionary:
      // A page without values may be empty.
      if (!bytes_.empty()) out.runs = BitRuns(bytes_.subspan(1), static_cast<int>(bytes_.front()));
      break;
    case PageEncoding::rle: {
      uint32_t size = 0;
      if (bytes_.size() >= sizeof size) std::memcpy(&size, bytes_.data(), sizeof size);
      if (bytes_.size() < sizeof size + size) throw too_few();
      out.runs = BitRuns(bytes_.subspan(sizeof size, size), 1);
      break;
    }
    case PageEncoding::delta_binary_packed: out.delta = Copied(DeltaCursor{DeltaNumbers(bytes_, most_)}); break;
    case PageEncoding::delta_length_byte_array: {
      const DeltaNumbers lengths(bytes_, most_);
      out.at = DeltaNumbers(lengths).rest().data();
      out.delta = Copied(DeltaCursor{lengths});
      break;
    }
    case PageEncoding::delta_byte_array: {
      const DeltaNumbers prefixes(bytes_, most_);
      const DeltaNumbers lengths(DeltaNumbers(prefixes).rest(), most_);
      out.at = DeltaNumbers(lengths).rest().data();
      out.delta = Copied(DeltaCursor{lengths, prefixes});
      break;
    }
  }
  return out;
}

const uint32_t* PageValues::entries(ValueCursor& at, size_t count, ValueScratch& scratch) const {
  at.runs.read(scratch.entries.data(), count);
  uint32_t most = 0;
  for (size_t i = 0; i < count; ++i) most = std::max(most, scratch.entries[i]);
  if (count > 0 && most >= dictionary_->size) throw beyond_dictionary();
  return scratch.entries.data();
}

template <class Word>
void PageValues::look_up(ValueCursor& at, size_t count, Word* to) const {
  const auto* const numbers = reinterpret_cast<const Word*>(dictionary_->numbers.data());
  if (!at.runs.look_up(numbers, dictionary_->size, to, count)) throw beyond_dictionary();
}

template void PageValues::look_up(ValueCursor&, size_t, uint8_t*) const;
template void PageValues::look_up(ValueCursor&, size_t, uint32_t*) const;
template void PageValues::look_up(ValueCursor&, size_t, uint64_t*) const;

std::byte* PageValues::room(size_t bytes, ValueScratch& scratch) const {
  if (bytes <= scratch.fixed.size()) return scratch.fixed.data();
  if (scratch.wide.size() < bytes) scratch.wide.resize(bytes);
  return scratch.wide.data();
}

const std::byte* PageValues::fixed(ValueCursor& at, size_t count, ValueScratch& scratch) const {
  const uint64_t index = std::exchange(at.index, at.index + count);
  if (stored_ == StoredType::boolean) {
    auto* const to = reinterpret_cast<uint8_t*>(scratch.fixed.data());
    if (encoding_ == PageEncoding::rle) {
      at.runs.read(to, count);
    } else {
      if (at.index > 8 * bytes_.size()) throw too_few();
      unpack_bits(bytes_.data(), index, 1, to, count);
    }
    return scratch.fixed.data();
  }
  if (encoding_ == PageEncoding::delta_binary_packed) {
    if (width_ == 4) {
      at.delta->numbers.read(reinterpret_cast<int32_t*>(scratch.fixed.data()), count);
    } else {
      at.delta->numbers.read(reinterpret_cast<int64_t*>(scratch.fixed.data()), count);
    }
    return scratch.fixed.data();
  }
  if (encoding_ == PageEncoding::delta_byte_array) {
    std::byte* const to = room(count * width_, scratch);
    size_t i = 0;
    texts(at, count, scratch, [&](std::string_view text) {
      if (text.size() != width_) throw damaged_parquet("a page has a value of another length");
      std::memcpy(to + width_ * i++, text.data(), width_);
    });
    return to;
  }
  const size_t all = bytes_.size() / width_;
  if (at.index > all) throw too_few();
  if (encoding_ == PageEncoding::plain) return bytes_.data() + index * width_;
  std::byte* const to = room(count * width_, scratch);
  const std::byte* const from = bytes_.data() + index;
  switch (width_) {
    case 2: join_streams<2>(from, all, count, to); break;
    case 4: join_streams<4>(from, all, count, to); break;
    case 8: join_streams<8>(from, all, count, to); break;
    default: join_streams<0>(from, all, count, to, width_);
  }
  return to;
}

void PageValues::begin_texts(ValueCursor& at, size_t count, ValueScratch& scratch) const {
  at.index += count;
  if (encoding_ == PageEncoding::plain) return;
  at.delta->numbers.read(scratch.lengths.data(), count);
  if (encoding_ == PageEncoding::delta_byte_array) at.delta->prefixes.read(scratch.prefixes.data(), count);
}

std::string_view PageValues::take(ValueCursor& at, uint64_t bytes) const {
  if (bytes > static_cast<uint64_t>(bytes_.data() + bytes_.size() - at.at)) throw too_few();
  const auto* const begin = reinterpret_cast<const char*>(at.at);
  at.at += bytes;
  return {begin, static_cast<size_t>(bytes)};
}

std::string_view PageValues::next_text(ValueCursor& at, size_t i, const ValueScratch& scratch) const {
  if (encoding_ == PageEncoding::plain) {
    uint32_t size = 0;
    std::memcpy(&size, take(at, sizeof size).data(), sizeof size);
    return take(at, size);
  }
  const int32_t length = scratch.lengths[i];
  if (length < 0) throw damaged_parquet("a page has a text of negative length");
  if (encoding_ == PageEncoding::delta_length_byte_array) return take(at, static_cast<uint64_t>(length));
  const int32_t prefix = scratch.prefixes[i];
  std::string& last = at.delta->last;
  if (prefix < 0 || static_cast<size_t>(prefix) > last.size()) {
    throw damaged_parquet("a page has a text that begins as no other");
  }
  last.resize(static_cast<size_t>(prefix));
  last += take(at, static_cast<uint64_t>(length));
  return last;
}

void PageValues::skip(ValueCursor& at, size_t count, ValueScratch& scratch) const {
  if (encoding_ == PageEncoding::plain && (width_ > 0 || stored_ == StoredType::boolean)) {
    at.index += count;
    return;
  }
  if (encoding_ == PageEncoding::byte_stream_split) {
    at.index += count;
    return;
  }
  if (dictionary_ != nullptr || encoding_ == PageEncoding::rle) return at.runs.skip(count);
  if (encoding_ == PageEncoding::delta_binary_packed) return at.delta->numbers.skip(count);
  while (count > 0) {
    const size_t some = std::min(count, kValuesAtOnce);
    texts(at, some, scratch, [](std::string_view) {});
    count -= some;
  }
}

}  // namespace millrace
