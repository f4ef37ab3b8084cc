#include "millrace/input/arrays/array_layout.h"

#include <algorithm>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/files/foreign_file.h"

namespace millrace {

namespace {

// An array without rows has no bytes that prove how large a row is.
constexpr uint64_t kMostUnproven = uint64_t{1} << 40;

std::string text_of_sizes(std::span<const uint64_t> sizes) {
  std::vector<std::string> out;
  for (const uint64_t size : sizes) out.push_back(cat(size));
  return cat('(', join(out, ", "), sizes.size() == 1 ? ",)" : ")");
}

}  // namespace

std::string FileRange::read(uint64_t offset, size_t bytes) const {
  std::string out(static_cast<size_t>(std::min<uint64_t>(bytes, size - std::min(offset, size))), '\0');
  out.resize(file.read(begin + offset, out.data(), out.size()));
  return out;
}

std::string other_format_hint(const FileRange& range) { return format_hint(range.read(0, 512)); }

std::string format_hint(std::string_view start) {
  if (const auto foreign = foreign_file(start); foreign && foreign->certain) return foreign->binary_hint();
  const bool text = std::ranges::none_of(
      start, [](unsigned char c) { return (c < ' ' && c != '\t' && c != '\r' && c != '\n') || c == 0x7f; });
  return text && !start.empty() ? "the file looks like text: csv_reader reads CSV" : "";
}

ArrayLayout layout_of(const ArraySizes& array, const FileRange& range) {
  const std::span<const uint64_t> sizes = array.sizes;
  if (sizes.empty()) throw DataError("the array is a single number, which has no rows");
  if (sizes.size() > Shape::kMaxRank) {
    throw DataError(cat("the array has ", sizes.size(), " dimensions, at most ", Shape::kMaxRank, " are read"));
  }
  const uint64_t there = range.size - std::min(array.begin, range.size), number = array.numbers.bytes();
  const uint64_t most = sizes[0] == 0 ? kMostUnproven : there / number;
  uint64_t count = std::max<uint64_t>(sizes[0], 1);
  std::vector<int64_t> row;
  for (size_t i = 1; i < sizes.size(); ++i) {
    if (sizes[i] == 0) throw DataError(cat("the array has shape ", text_of_sizes(sizes), ": its rows have no values"));
    if (count > most / sizes[i]) count = most + 1;
    if (count <= most) count *= sizes[i];
    row.push_back(static_cast<int64_t>(sizes[i]));
  }
  if (count > most || (sizes[0] > 0 ? count * number : 0) != there) {
    throw DataError(cat("the header says shape ", text_of_sizes(sizes), ", with ", number,
                        number == 1 ? " byte" : " bytes", " a number, but ", there, " bytes follow it"),
                    {}, "was the file cut short, or does it hold several arrays?");
  }
  if (row.empty()) row.push_back(1);
  return {.numbers = array.numbers, .row = Shape(row), .rows = sizes[0], .begin = array.begin};
}

}  // namespace millrace
