#include "millrace/input/arrays/array_layout.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMostHeaderBytes = 65536;

// Types of numbers, by NumPy's letter and size.
struct DescribedType {
  std::string_view letters;
  NumberType type;
};
constexpr DescribedType kTypes[] = {
    {"b1", NumberType::boolean}, {"u1", NumberType::uint8},   {"i1", NumberType::int8},   {"i2", NumberType::int16},
    {"u2", NumberType::uint16},  {"i4", NumberType::int32},   {"u4", NumberType::uint32}, {"i8", NumberType::int64},
    {"f2", NumberType::float16}, {"f4", NumberType::float32}, {"f8", NumberType::float64}};

// What else an array may hold, by the beginning of its letters.
struct OtherContent {
  std::string_view letters, name, remedy;
};
constexpr OtherContent kOthers[] = {
    {"u8", "uint64, which no field can hold", "save a.astype(\"int64\")"},
    {"f", "floats longer than 8 bytes", "save a.astype(\"float64\")"},
    {"c", "complex numbers", "save a.real and a.imag, each in a file of its own"},
    {"O", "Python objects", "make numbers of them first: a.astype(\"float32\")"},
    {"S", "texts", "save the numbers of their classes: numpy.unique(a, return_inverse=True)[1]"},
    {"U", "texts", "save the numbers of their classes: numpy.unique(a, return_inverse=True)[1]"},
    {"M", "dates", "save a.astype(\"datetime64[s]\").astype(\"int64\")"},
    {"m", "times", "save a.astype(\"timedelta64[s]\").astype(\"int64\")"},
    {"V", "structures", "save each of their parts in a file of its own: a[\"NAME\"]"},
};

NumberFormat number_format(std::string_view text) {
  const bool has_order = !text.empty() && std::string_view("<>|=").find(text[0]) != text.npos;
  const std::string_view letters = text.substr(has_order ? 1 : 0);
  for (const DescribedType& one : kTypes) {
    if (letters == one.letters) return {.type = one.type, .big_endian = text[0] == '>'};
  }
  for (const OtherContent& other : kOthers) {
    if (!letters.starts_with(other.letters)) continue;
    throw DataError(cat("the array holds ", other.name, " (", quote(text), "), expected numbers"), {}, other.remedy);
  }
  throw DataError(cat("the array holds values of an unknown type, ", quote(text)));
}

// Reads what NumPy writes: {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 784), }
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  void run() {
    expect('{');
    while (!take('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !descr) {
        if (peek() == '[') static_cast<void>(number_format("V"));
        descr = quoted();
      } else if (key == "fortran_order" && !fortran_order) {
        fortran_order = flag();
      } else if (key == "shape" && !shape) {
        shape = tuple();
      } else {
        throw wrong();
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (!text_.empty() || !descr || !fortran_order || !shape) throw wrong();
  }

  std::optional<std::string_view> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<uint64_t>> shape;

 private:
  static DataError wrong() { return DataError("the header of the array is damaged"); }

  void skip_blanks() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r\n"), text_.size())); }
  char peek() {
    skip_blanks();
    return text_.empty() ? '\0' : text_[0];
  }
  bool take(char c) {
    if (peek() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) throw wrong();
  }
  std::string_view quoted() {
    const char mark = peek();
    if (mark != '\'' && mark != '"') throw wrong();
    const size_t end = text_.find(mark, 1);
    if (end == text_.npos) throw wrong();
    const std::string_view out = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return out;
  }
  bool flag() {
    skip_blanks();
    for (const std::string_view word : {"True", "False"}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return word == "True";
    }
    throw wrong();
  }
  std::vector<uint64_t> tuple() {
    std::vector<uint64_t> out;
    expect('(');
    while (!take(')')) {
      skip_blanks();
      uint64_t& number = out.emplace_back();
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
      if (error != std::errc()) throw wrong();
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      take('L');  // Python 2
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return out;
  }

  std::string_view text_;
};

struct NpyHeader {
  NumberFormat numbers;
  std::vector<uint64_t> sizes;
  bool by_columns = false;
  uint64_t begin = 0;  // of the first number
};

NpyHeader npy_header_of(const FileRange& range) {
  const std::string start = range.read(0, kMagic.size() + 2 + sizeof(uint32_t));
  if (!start.starts_with(kMagic)) {
    throw DataError("this is no array of NumPy: it does not begin with \\x93NUMPY", {}, other_format_hint(range));
  }
  const auto byte = [&](size_t i) -> size_t { return i < start.size() ? static_cast<unsigned char>(start[i]) : 0; };
  const size_t major = byte(kMagic.size()), at = kMagic.size() + 2;
  if (major < 1 || major > 3) {
    throw DataError(cat("the array is in format ", major, ".", byte(at - 1), ", 1.0 to 3.0 are read"));
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  size_t length = 0;
  for (size_t i = length_bytes; i-- > 0;) length = length << 8 | byte(at + i);
  if (length > kMostHeaderBytes) {
    throw DataError(cat("the header of the array has ", length, " bytes, at most ", kMostHeaderBytes, " are read"));
  }
  const std::string text = range.read(at + length_bytes, length);
  if (text.size() < length) throw DataError("the file ends inside the header of the array", {}, "was it cut short?");
  HeaderReader header(text);
  header.run();
  return {.numbers = number_format(*header.descr),
          .sizes = *header.shape,
          .by_columns = *header.fortran_order && header.shape->size() > 1,
          .begin = static_cast<uint64_t>(at + length_bytes + length)};
}

}  // namespace

ArrayLayout read_npy_header(const FileRange& range) {
  const NpyHeader header = npy_header_of(range);
  ArrayLayout out = layout_of({.numbers = header.numbers, .sizes = header.sizes, .begin = header.begin}, range);
  out.by_columns = header.by_columns;
  return out;
}

ArrayLayout read_npy_row(const FileRange& range) {
  NpyHeader header = npy_header_of(range);
  if (header.sizes.empty()) header.sizes = {1};
  if (header.sizes.size() >= Shape::kMaxRank) {
    throw DataError(cat("the array has ", header.sizes.size(), " dimensions, a row at most ", Shape::kMaxRank - 1));
  }
  if (header.by_columns) {
    throw DataError("the array is in Fortran's order, expected that of C", {}, "save numpy.ascontiguousarray(a)");
  }
  ArrayLayout out = layout_of({.numbers = header.numbers, .sizes = header.sizes, .begin = header.begin}, range);
  if (out.rows == 0) throw DataError("the array has no values");
  const std::vector<int64_t> sizes(header.sizes.begin(), header.sizes.end());
  out.row = Shape(sizes);
  out.rows = 1;
  return out;
}

}  // namespace millrace
