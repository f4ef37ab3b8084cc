#include "millrace/input/parquet/delta_numbers.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "millrace/input/parquet/bit_runs.h"
#include "millrace/input/parquet/thrift_reader.h"

namespace millrace {

namespace {

uint64_t unzigzag(uint64_t number) { return (number >> 1) ^ (~(number & 1) + 1); }

// Numbers of more than 32 bits, which may lie across two words.
uint64_t wide_bits(const std::byte* from, uint64_t bit, int width) {
  std::array<uint64_t, 2> words;
  std::memcpy(words.data(), from + bit / 8, sizeof words);
  const int shift = static_cast<int>(bit % 8);
  uint64_t out = words[0] >> shift;
  if (shift > 0) out |= words[1] << (64 - shift);
  return width == 64 ? out : out & ((uint64_t{1} << width) - 1);
}

}  // namespace

DeltaNumbers::DeltaNumbers(std::span<const std::byte> bytes, uint64_t most)
    : at_(bytes.data()), end_(bytes.data() + bytes.size()) {
  constexpr uint64_t kMostBlock = 1 << 20;
  const uint64_t block = varint(), miniblocks = varint();
  numbers_ = varint();
  if (numbers_ > most) throw damaged_parquet("a page has more values than it says");
  last_ = unzigzag(varint());
  at_first_ = true;
  if (block == 0 || block > kMostBlock || miniblocks == 0 || block % (8 * miniblocks) != 0) {
    throw damaged_parquet("a page has differences in blocks of an odd size");
  }
  per_block_ = next_ = static_cast<uint32_t>(miniblocks);
  per_miniblock_ = static_cast<uint32_t>(block / miniblocks);
}

uint64_t DeltaNumbers::varint() {
  uint64_t out = 0;
  for (int shift = 0; shift < 64 && at_ < end_; shift += 7) {
    const auto next = static_cast<uint64_t>(*at_++);
    out |= (next & 0x7f) << shift;
    if (next < 0x80) return out;
  }
  throw damaged_parquet("a page of differences ends too early");
}

void DeltaNumbers::next_miniblock() {
  if (next_ == per_block_) {
    least_ = unzigzag(varint());
    widths_ = at_;
    if (static_cast<uint64_t>(end_ - at_) < per_block_) throw damaged_parquet("a page of differences ends too early");
    at_ += per_block_;
    next_ = 0;
  }
  width_ = static_cast<uint8_t>(widths_[next_++]);
  if (width_ > 64) throw damaged_parquet("a page has differences of more than 64 bits");
  const auto rest = static_cast<uint64_t>(end_ - at_);
  // What nobody needs may be missing in the last one.
  const uint64_t needed = (std::min<uint64_t>(per_miniblock_, numbers_) * width_ + 7) / 8;
  if (needed > rest) throw damaged_parquet("a page of differences ends too early");
  miniblock_ = at_;
  at_ += std::min<uint64_t>(rest, uint64_t{per_miniblock_} * width_ / 8);
  bit_ = 0;
  in_miniblock_ = per_miniblock_;
}

template <class T>
void DeltaNumbers::read(T* to, size_t count) {
  if (count > numbers_) throw damaged_parquet("a page has fewer values than it says");
  std::array<uint32_t, 128> differences;
  for (; count > 0 && at_first_; at_first_ = false, --count, --numbers_) *to++ = static_cast<T>(last_);
  while (count > 0) {
    if (in_miniblock_ == 0) next_miniblock();
    const auto some = static_cast<uint32_t>(std::min({count, size_t{in_miniblock_}, differences.size()}));
    if (width_ <= 32) {
      unpack_bits(miniblock_, bit_, width_, differences.data(), some);
      for (uint32_t i = 0; i < some; ++i) to[i] = static_cast<T>(last_ += least_ + differences[i]);
    } else {
      for (uint32_t i = 0; i < some; ++i) {
        to[i] = static_cast<T>(last_ += least_ + wide_bits(miniblock_, bit_ + uint64_t{i} * width_, width_));
      }
    }
    bit_ += uint64_t{some} * width_;
    in_miniblock_ -= some;
    numbers_ -= some;
    to += some;
    count -= some;
  }
}

template void DeltaNumbers::read(int32_t*, size_t);
template void DeltaNumbers::read(int64_t*, size_t);

void DeltaNumbers::skip(size_t count) {
  std::array<int64_t, 128> passed;
  for (; count > passed.size(); count -= passed.size()) read(passed.data(), passed.size());
  read(passed.data(), count);
}

std::span<const std::byte> DeltaNumbers::rest() {
  if (numbers_ > 0 && at_first_) {
    at_first_ = false;
    --numbers_;
  }
  while (numbers_ > 0) {
    if (in_miniblock_ == 0) next_miniblock();
    const uint64_t some = std::min<uint64_t>(in_miniblock_, numbers_);
    numbers_ -= some;
    in_miniblock_ -= static_cast<uint32_t>(some);
  }
  return {at_, end_};
}

}  // namespace millrace
