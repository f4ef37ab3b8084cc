#include "millrace/input/arrays/array_layout.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

struct CodedType {
  unsigned char code;
  NumberType type;
};
constexpr CodedType kCodes[] = {{0x08, NumberType::uint8}, {0x09, NumberType::int8},    {0x0b, NumberType::int16},
                                {0x0c, NumberType::int32}, {0x0d, NumberType::float32}, {0x0e, NumberType::float64}};

}  // namespace

// Two zeros, the type of the numbers, how many dimensions there are, and their sizes: big-endian, as the numbers are.
ArrayLayout read_idx_header(const FileRange& range) {
  constexpr size_t kStart = 4, kSize = 4;
  const std::string text = range.read(0, kStart + Shape::kMaxRank * kSize);
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto coded = text.size() < kStart || byte(0) != 0 || byte(1) != 0
                         ? std::end(kCodes)
                         : std::ranges::find(kCodes, byte(2), &CodedType::code);
  if (coded == std::end(kCodes)) throw DataError("this is no array in the IDX format", {}, other_format_hint(range));
  const size_t rank = byte(3);
  if (rank > Shape::kMaxRank) {
    throw DataError(cat("the array has ", rank, " dimensions, at most ", Shape::kMaxRank, " are read"));
  }
  if (text.size() < kStart + rank * kSize) {
    throw DataError("the file ends inside the header of the array", {}, "was it cut short?");
  }
  std::array<uint64_t, Shape::kMaxRank> sizes{};
  for (size_t i = 0; i < rank * kSize; ++i) sizes[i / kSize] = sizes[i / kSize] << 8 | byte(kStart + i);
  return layout_of({.numbers = {.type = coded->type, .big_endian = true},
                    .sizes = std::span(sizes).first(rank),
                    .begin = kStart + rank * kSize},
                   range);
}

}  // namespace millrace
