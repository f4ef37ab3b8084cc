// DeltaNumbers: integers of which a page holds the differences (DELTA_BINARY_PACKED). A copy goes on from the same
// place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace millrace {

class DeltaNumbers {
 public:
  DeltaNumbers() = default;
  // Reads the head of the numbers, which `bytes` begin with; the bytes stay. Throws DataError, as the other functions
  // do, without a place; also if there are more than `most`. REQUIRES: kPageSlack bytes after them.
  explicit DeltaNumbers(std::span<const std::byte> bytes, uint64_t most = UINT64_MAX);

  // Throw DataError if so many numbers are not there. T: int32_t, int64_t; sums wrap around.
  template <class T>
  void read(T* to, size_t count);
  void skip(size_t count);
  // The bytes after the last number. All numbers are passed over for that, so it is asked of a copy.
  std::span<const std::byte> rest();

 private:
  uint64_t varint();
  void next_miniblock();

  const std::byte* at_ = nullptr;  // what comes after the miniblock
  const std::byte* end_ = nullptr;
  const std::byte* widths_ = nullptr;     // bits of a number in each miniblock of the block
  const std::byte* miniblock_ = nullptr;  // its packed numbers
  uint64_t numbers_ = 0;                  // that are still to come
  uint64_t bit_ = 0;                      // of the miniblock, of the next number
  uint64_t last_ = 0, least_ = 0;         // the number before the next one; the least difference of the block
  uint32_t in_miniblock_ = 0;             // numbers of it that are still to come
  uint32_t per_miniblock_ = 1, per_block_ = 1, next_ = 0;  // `next_` and `per_block_` count miniblocks
  uint8_t width_ = 0;
  bool at_first_ = false;
};

}  // namespace millrace
