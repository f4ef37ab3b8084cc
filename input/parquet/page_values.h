// PageValues: the values of a page, in the encoding that it has, without the missing ones. Constant; any thread may
// read them. A ValueCursor is where one reader of them stands, and a copy of it goes on from the same place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/input/parquet/bit_runs.h"
#include "millrace/input/parquet/delta_numbers.h"
#include "millrace/input/parquet/page_header.h"
#include "millrace/input/parquet/page_unpacker.h"
#include "millrace/input/parquet/schema.h"

namespace millrace {

// A T, or none, which is copied with its owner.
template <class T>
class Copied {
 public:
  Copied() = default;
  explicit Copied(T value) : value_(std::make_unique<T>(std::move(value))) {}
  Copied(const Copied& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Copied(Copied&&) noexcept = default;
  Copied& operator=(const Copied& other) {
    value_ = other.value_ ? std::make_unique<T>(*other.value_) : nullptr;
    return *this;
  }
  Copied& operator=(Copied&&) noexcept = default;
  ~Copied() = default;
  T* operator->() { return value_.get(); }

 private:
  std::unique_ptr<T> value_;
};

// So many values are read at a time.
inline constexpr size_t kValuesAtOnce = 512;

// The values to which the pages of a chunk refer by number.
struct Dictionary {
  PageBytes bytes;
  size_t size = 0;
  std::vector<std::string_view> texts = {};  // of columns of texts
  PageBytes numbers = {};                    // as the field has them
  std::vector<uint8_t> bad = {};             // whether a number is none of the field's type; empty: none is
};

// Where a reader of differences stands.
struct DeltaCursor {
  DeltaNumbers numbers = {}, prefixes = {};
  std::string last = {};  // the text before, of which the next one takes a part
};

struct ValueCursor {
  uint64_t index = 0;              // values that were passed
  const std::byte* at = nullptr;   // the texts that follow
  BitRuns runs = {};               // numbers of dictionary entries; booleans
  Copied<DeltaCursor> delta = {};  // only for such encodings, as it is large
};

// Memory of a task for some values.
struct ValueScratch {
  alignas(64) std::array<std::byte, 16 * kValuesAtOnce> fixed;
  std::vector<std::byte> wide;  // of values of more than 16 bytes
  std::array<uint32_t, kValuesAtOnce> entries;
  std::array<int32_t, kValuesAtOnce> lengths, prefixes;
};

class PageValues {
 public:
  PageValues() = default;
  // The values that `bytes`, of which the page's own memory holds kPageSlack more, begin with; at most `most`. Throws
  // DataError, as all functions do, without a place.
  PageValues(const ParquetColumn& column, PageEncoding encoding, std::span<const std::byte> bytes,
             std::shared_ptr<const Dictionary> dictionary, uint64_t most);

  ValueCursor begin() const;
  const Dictionary* dictionary() const { return dictionary_.get(); }
  void skip(ValueCursor& at, size_t count, ValueScratch& scratch) const;

  // The next `count` values, at most kValuesAtOnce, in one of these forms.
  // Numbers of dictionary entries. REQUIRES: dictionary().
  const uint32_t* entries(ValueCursor& at, size_t count, ValueScratch& scratch) const;
  // Numbers of the field's type. REQUIRES: dictionary(), with numbers that are as large as a Word.
  template <class Word>
  void look_up(ValueCursor& at, size_t count, Word* to) const;
  // Stored values of the column's width, one after another; a boolean takes a byte. REQUIRES: no dictionary(); not
  // StoredType::bytes.
  const std::byte* fixed(ValueCursor& at, size_t count, ValueScratch& scratch) const;
  // Calls body(bytes) for each.
  template <class Body>
  void texts(ValueCursor& at, size_t count, ValueScratch& scratch, const Body& body) const {
    if (dictionary_ != nullptr) {
      const uint32_t* const numbers = entries(at, count, scratch);
      for (size_t i = 0; i < count; ++i) body(dictionary_->texts[numbers[i]]);
    } else if (stored_ != StoredType::bytes && encoding_ != PageEncoding::delta_byte_array) {
      const size_t width = stored_ == StoredType::boolean ? 1 : width_;
      const auto* const from = reinterpret_cast<const char*>(fixed(at, count, scratch));
      for (size_t i = 0; i < count; ++i) body(std::string_view(from + i * width, width));
    } else {
      begin_texts(at, count, scratch);
      for (size_t i = 0; i < count; ++i) body(next_text(at, i, scratch));
    }
  }

 private:
  void begin_texts(ValueCursor& at, size_t count, ValueScratch& scratch) const;
  std::string_view next_text(ValueCursor& at, size_t i, const ValueScratch& scratch) const;
  std::string_view take(ValueCursor& at, uint64_t bytes) const;
  std::byte* room(size_t bytes, ValueScratch& scratch) const;

  StoredType stored_ = StoredType::int32;
  PageEncoding encoding_ = PageEncoding::plain;
  size_t width_ = 0;
  uint64_t most_ = 0;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const Dictionary> dictionary_;
};

}  // namespace millrace
