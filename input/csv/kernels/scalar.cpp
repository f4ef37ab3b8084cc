// One field at a time, in ordinary 64-bit words: for every processor. Delimiters, line feeds and quotes are found in
// such words, too.
//
// The last 16 bytes of a field are loaded as two words, the bytes before the dot move up by one, and each word's eight
// digits become an integer in three multiplications. This integer over a power of ten is the number. If the quotient
// might round in another way than the text, or the field is longer, parse_number() parses it.
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "millrace/input/csv/kernels/kernels.h"
#include "millrace/input/csv/kernels/powers_of_ten.h"
#include "millrace/input/csv/number_parser.h"

namespace millrace {

namespace {

// The lowest and the highest bit of every byte.
constexpr uint64_t kLowBits = 0x0101010101010101u;
constexpr uint64_t kHighBits = 0x8080808080808080u;

// Loads eight bytes; the first becomes the lowest.
uint64_t load_word(const char* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

// The high bit of every byte of `word` that differs from the repeated byte; other bits may be anything.
uint64_t differs(uint64_t word, uint64_t repeated) {
  const uint64_t difference = word ^ repeated;
  return ((difference & ~kHighBits) + ~kHighBits) | difference;
}

// How many bytes have their high bit set; no other bit is.
uint32_t count(uint64_t high_bits) { return static_cast<uint32_t>((high_bits >> 7) * kLowBits >> 56); }

// The number of the first byte that has its high bit set; 7 if there is none.
uint32_t lowest_byte(uint64_t high_bits) {
  return static_cast<uint32_t>(std::countr_zero(high_bits | uint64_t{1} << 63)) / 8;
}

// The high bit of every byte above 9; no other bit.
uint64_t above_nine(uint64_t word) { return (((word & ~kHighBits) + kLowBits * (0x7f - 9)) | word) & kHighBits; }

// The integer that eight digits write; the first digit is in the lowest byte.
uint64_t eight_digits(uint64_t word) {
  word = word * 10 + (word >> 8);
  constexpr uint64_t kPairs = 0x000000ff000000ff;
  return ((word & kPairs) * 0x000f424000000064 + ((word >> 16) & kPairs) * 0x0000271000000001) >> 32;
}

// kLastBytes[n]: a mask of the last n bytes of two words.
constexpr auto kLastBytes = [] {
  std::array<std::array<uint64_t, 2>, 17> out{};
  for (size_t length = 0; length <= 16; ++length) {
    for (size_t byte = 16 - length; byte < 16; ++byte) out[length][byte / 8] |= uint64_t{0xff} << byte % 8 * 8;
  }
  return out;
}();

constexpr auto kIntegerTens = [] {
  std::array<uint64_t, 16> out{1};
  for (size_t n = 1; n < out.size(); ++n) out[n] = out[n - 1] * 10;
  return out;
}();

struct Digits {
  uint64_t value = 0;
  size_t decimals = 0;
  bool has_dot = false;
};

// Reads digits and at most one dot, which end at `last`. Returns false for other texts, and for whole numbers of more
// than eight digits. No branch depends on the digits, which differ from value to value in most data. REQUIRES: 1 <=
// last - first <= 16, and the 16 bytes before `last` can be read.
inline bool read_digits(const char* first, const char* last, Digits& out) {
  const auto length = static_cast<size_t>(last - first);
  uint64_t late = load_word(last - 8) ^ kLowBits * '0';
  if (length <= 8) {
    const uint64_t all = late & kLastBytes[length][1];
    if (above_nine(all) == 0) {
      out.value = eight_digits(all);
      return true;
    }
  }
  uint64_t before = 0;
  unsigned char digit;
  for (; (digit = static_cast<unsigned char>(*first - '0')) <= 9; ++first) {
    before = before * 10 + digit;
    if (first + 1 == last) return false;
  }
  if (*first != '.' || length == 1) return false;
  out.has_dot = true;
  out.decimals = static_cast<size_t>(last - first) - 1;
  const auto& inside = kLastBytes[out.decimals];
  const uint64_t early = (load_word(last - 16) ^ kLowBits * '0') & inside[0];
  late &= inside[1];
  out.value = before * kIntegerTens[out.decimals] + eight_digits(early) * 100000000 + eight_digits(late);
  return (above_nine(early) | above_nine(late)) == 0;
}

// Both doubles are exact, as there are at most 15 digits, so their quotient is the nearest double.
bool finish(const Digits& digits, bool negative, double& out) {
  const double value = static_cast<double>(static_cast<int64_t>(digits.value)) / kTens.high[digits.decimals];
  out = std::bit_cast<double>(std::bit_cast<uint64_t>(value) | uint64_t{negative} << 63);
  return true;
}

// The nearest float of the nearest double is the nearest float, unless that double lies in the middle of two.
bool finish(const Digits& digits, bool negative, float& out) {
  double value;
  if (!finish(digits, negative, value)) return false;
  out = static_cast<float>(value);
  return (std::bit_cast<uint64_t>(value) & 0x1fffffff) != 0x10000000;
}

bool finish(const Digits& digits, bool negative, int64_t& out) {
  const uint64_t sign = 0 - uint64_t{negative};
  out = static_cast<int64_t>((digits.value ^ sign) - sign);
  return !digits.has_dot;
}

bool finish(const Digits& digits, bool negative, int32_t& out) {
  int64_t value;
  if (!finish(digits, negative, value)) return false;
  out = static_cast<int32_t>(value);
  return out == value;
}

template <class T>
size_t parse_run_scalar(const FieldRun& run, T* out) {
  const char* first = run.text + run.begin;
  for (size_t i = 0; i < run.count; ++i) {
    const char* last = run.text + run.ends[i];
    bool good = false;
    if (run.ends[i] >= 16) {
      // The text may end after an empty field, so nothing is read there.
      const bool negative = *(first - (first == last ? 1 : 0)) == '-';
      const size_t length = static_cast<size_t>(last - first) - (negative ? 1 : 0);
      Digits digits;
      good = length - 1 < 16 && read_digits(last - length, last, digits) && finish(digits, negative, out[i]);
    }
    if (!good && parse_number({first, static_cast<size_t>(last - first)}, out[i]) != NumberStatus::ok) return i;
    first = last + 1;
  }
  return run.count;
}

}  // namespace

// Writes at least two entries for each word, even if there are fewer, because a branch on their number would be
// mispredicted.
IndexEnd index_words(const char* text, size_t from, size_t to, const TextMarks& marks, IndexEnd end) {
  const char quote = marks.quote.value_or('\n');
  const uint64_t line_feeds = kLowBits * '\n', delimiters = kLowBits * static_cast<unsigned char>(marks.delimiter),
                 quotes = kLowBits * static_cast<unsigned char>(quote);
  size_t at = from;
  for (; at + 8 <= to; at += 8) {
    const uint64_t word = load_word(text + at);
    const uint64_t no_line = differs(word, line_feeds);
    uint64_t separators = ~(no_line & differs(word, delimiters)) & kHighBits;
    for (uint64_t events = ~(no_line & differs(word, quotes)) & kHighBits; events != 0; events &= events - 1) {
      const uint64_t below = (events & (~events + 1)) - 1;
      *end.events++ = {static_cast<uint32_t>(at) + lowest_byte(events),
                       end.separator_count + count(separators & below)};
    }
    const uint32_t found = count(separators);
    end.separator_count += found;
    uint32_t* out = end.separators;
    end.separators += found;
    do {
      *out++ = static_cast<uint32_t>(at) + lowest_byte(separators);
      separators &= separators - 1;
      *out++ = static_cast<uint32_t>(at) + lowest_byte(separators);
      separators &= separators - 1;
    } while (separators != 0);
  }
  for (; at < to; ++at) {
    const char c = text[at];
    if (c == '\n' || c == quote) *end.events++ = {static_cast<uint32_t>(at), end.separator_count};
    if (c != '\n' && c != marks.delimiter) continue;
    *end.separators++ = static_cast<uint32_t>(at);
    ++end.separator_count;
  }
  return end;
}

const CsvKernels* scalar_csv_kernels() {
#if defined(__x86_64__)
  constexpr auto kIndex = index_sse2;
#else
  constexpr auto kIndex = index_words;
#endif
  static constexpr CsvKernels kKernels = {
      {parse_run_scalar<float>, parse_run_scalar<double>, parse_run_scalar<int32_t>, parse_run_scalar<int64_t>},
      kIndex};
  return &kKernels;
}

}  // namespace millrace
