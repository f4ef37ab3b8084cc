#include "millrace/input/parquet/bit_runs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "millrace/input/parquet/thrift_reader.h"

namespace millrace {

namespace {

DataError above_the_largest() { return damaged_parquet("a page has a number above the largest that may be there"); }

static_assert(std::endian::native == std::endian::little);

uint64_t word_at(const std::byte* from) {
  uint64_t out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

template <int kWidth>
uint64_t number_at(const std::byte* from, size_t i) {
  constexpr uint64_t kMask = (uint64_t{1} << kWidth) - 1;
  return word_at(from + i * kWidth / 8) >> (i * kWidth % 8) & kMask;
}

// Eight numbers begin and end with a byte, so all shifts are known when this is compiled.
template <class T, int kWidth>
void unpack_eights(const std::byte* from, T* to, size_t eights) {
  for (; eights > 0; --eights, from += kWidth, to += 8) {
    [&]<size_t... i>(std::index_sequence<i...>) {
      ((to[i] = static_cast<T>(number_at<kWidth>(from, i))), ...);
    }(std::make_index_sequence<8>());
  }
}

// Whether all numbers are below `size`.
template <class T, int kWidth>
bool look_up_eights(const std::byte* from, const T* table, uint64_t size, T* to, size_t eights) {
  bool good = true;
  for (; good && eights > 0; --eights, from += kWidth, to += 8) {
    [&]<size_t... i>(std::index_sequence<i...>) {
      const uint64_t numbers[] = {number_at<kWidth>(from, i)...};
      // The differences have the highest bit if the numbers are below `size`.
      good = ((numbers[i] - size) & ...) >> 63 != 0;
      if (good) ((to[i] = table[numbers[i]]), ...);
    }(std::make_index_sequence<8>());
  }
  return good;
}

// By width.
template <class T>
constexpr auto kUnpackEights = []<int... width>(std::integer_sequence<int, width...>) {
  return std::array{&unpack_eights<T, width>...};
}(std::make_integer_sequence<int, 33>());
template <class T>
constexpr auto kLookUpEights = []<int... width>(std::integer_sequence<int, width...>) {
  return std::array{&look_up_eights<T, width>...};
}(std::make_integer_sequence<int, 33>());

// Calls one(number) for each of `count` numbers, but eights(from, n) for 8 n ones that begin with a byte.
template <class One, class Eights>
void in_eights(const std::byte* from, uint64_t bit, int width, size_t count, const One& one, const Eights& eights) {
  const uint64_t mask = (uint64_t{1} << width) - 1;
  const auto pass_one = [&] {
    one(word_at(from + bit / 8) >> (bit % 8) & mask);
    bit += static_cast<uint64_t>(width);
  };
  for (; count > 0 && bit % 8 != 0; --count) pass_one();
  eights(from + bit / 8, count / 8);
  bit += count / 8 * 8 * static_cast<uint64_t>(width);
  for (count %= 8; count > 0; --count) pass_one();
}

}  // namespace

template <class T>
void unpack_bits(const std::byte* from, uint64_t bit, int width, T* to, size_t count) {
  in_eights(
      from, bit, width, count, [&](uint64_t number) { *to++ = static_cast<T>(number); },
      [&](const std::byte* packed, size_t eights) {
        kUnpackEights<T>[static_cast<size_t>(width)](packed, to, eights);
        to += 8 * eights;
      });
}

template void unpack_bits(const std::byte*, uint64_t, int, uint8_t*, size_t);
template void unpack_bits(const std::byte*, uint64_t, int, uint32_t*, size_t);

BitRuns::BitRuns(std::span<const std::byte> bytes, int width, uint32_t most)
    : at_(bytes.data()), end_(bytes.data() + bytes.size()), width_(width) {
  if (width < 0 || width > 32) throw damaged_parquet("a page has numbers of more than 32 bits");
  const auto of_width = static_cast<uint32_t>((uint64_t{1} << width) - 1);
  most_ = std::min(most, of_width);
  checks_packed_ = most_ < of_width;
}

void BitRuns::next_run() {
  while (left_ == 0) {
    uint64_t head = 0;
    for (int shift = 0;; shift += 7) {
      if (at_ == end_) throw damaged_parquet("a page has fewer values than it says");
      const auto next = static_cast<uint64_t>(*at_++);
      if (shift > 56) throw damaged_parquet("a page has a run without a length");
      head |= (next & 0x7f) << shift;
      if (next < 0x80) break;
    }
    const auto rest = static_cast<uint64_t>(end_ - at_);
    packed_ = (head & 1) != 0;
    left_ = std::min<uint64_t>(head >> 1, UINT32_MAX);  // no page has more
    if (packed_) {
      // The last bytes may be missing if nothing is said there.
      const uint64_t bytes = std::min(rest, left_ * static_cast<uint64_t>(width_));
      left_ = width_ == 0 ? left_ * 8 : std::min(left_ * 8, rest * 8 / static_cast<uint64_t>(width_));
      run_ = at_;
      bit_ = 0;
      at_ += bytes;
      continue;
    }
    const auto bytes = static_cast<size_t>(width_ + 7) / 8;
    if (bytes > rest) throw damaged_parquet("a page has fewer values than it says");
    value_ = 0;
    std::memcpy(&value_, at_, bytes);
    at_ += bytes;
    if (value_ > most_) throw above_the_largest();
  }
}

template <class T>
void BitRuns::read(T* to, size_t count) {
  while (count > 0) {
    next_run();
    const auto some = static_cast<size_t>(std::min<uint64_t>(left_, count));
    if (packed_) {
      unpack_bits(run_, bit_, width_, to, some);
      bit_ += some * static_cast<uint64_t>(width_);
      if (checks_packed_ && std::any_of(to, to + some, [&](T number) { return number > most_; }))
        throw above_the_largest();
    } else {
      std::fill_n(to, some, static_cast<T>(value_));
    }
    left_ -= some;
    to += some;
    count -= some;
  }
}

template void BitRuns::read(uint8_t*, size_t);
template void BitRuns::read(uint32_t*, size_t);

template <class T>
bool BitRuns::look_up(const T* table, size_t size, T* to, size_t count) {
  bool good = true;
  const auto one = [&](uint64_t number) {
    good = good && number < size;
    if (good) *to++ = table[number];
  };
  const auto eights = [&](const std::byte* from, size_t some) {
    good = good && kLookUpEights<T>[static_cast<size_t>(width_)](from, table, size, to, some);
    to += 8 * some;
  };
  while (good && count > 0) {
    next_run();
    const auto some = static_cast<size_t>(std::min<uint64_t>(left_, count));
    if (packed_) {
      in_eights(run_, bit_, width_, some, one, eights);
      bit_ += some * static_cast<uint64_t>(width_);
    } else {
      good = value_ < size;
      if (good) to = std::fill_n(to, some, table[value_]);
    }
    left_ -= some;
    count -= some;
  }
  return good;
}

template bool BitRuns::look_up(const uint8_t*, size_t, uint8_t*, size_t);
template bool BitRuns::look_up(const uint32_t*, size_t, uint32_t*, size_t);
template bool BitRuns::look_up(const uint64_t*, size_t, uint64_t*, size_t);

void BitRuns::skip(size_t count) {
  while (count > 0) {
    next_run();
    const auto some = static_cast<size_t>(std::min<uint64_t>(left_, count));
    bit_ += some * static_cast<uint64_t>(width_);
    left_ -= some;
    count -= some;
  }
}

size_t BitRuns::skip_counting(size_t count, uint32_t wanted) {
  size_t found = 0;
  std::array<uint32_t, 256> some;
  while (count > 0) {
    if (const std::optional<uint32_t> same = repeated(1)) {
      const auto run = static_cast<size_t>(std::min<uint64_t>(left_, count));
      found += *same == wanted ? run : 0;
      left_ -= run;
      count -= run;
      continue;
    }
    const size_t piece = std::min({some.size(), count, static_cast<size_t>(left_)});
    read(some.data(), piece);
    found += static_cast<size_t>(std::count(some.begin(), some.begin() + static_cast<ptrdiff_t>(piece), wanted));
    count -= piece;
  }
  return found;
}

std::optional<uint32_t> BitRuns::repeated(size_t count) {
  if (count == 0) return 0;
  next_run();
  if (packed_ || left_ < count) return {};
  return value_;
}

}  // namespace millrace
