// BitRuns: small numbers of one width, as pages hold levels and the numbers of dictionary entries: runs of one number,
// and runs of packed ones. A copy goes on from the same place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace millrace {

// So many bytes after a page may be read, whatever they are.
inline constexpr size_t kPageSlack = 16;

// Reads `count` numbers of `width` bits each, the lowest bits first, from bit `bit` of `from` on. T: uint8_t, uint32_t.
// REQUIRES: kPageSlack; width <= 32.
template <class T>
void unpack_bits(const std::byte* from, uint64_t bit, int width, T* to, size_t count);

class BitRuns {
 public:
  BitRuns() = default;
  // Of `bytes`, which stay; a number above `most` is an error. Throws DataError, as the other functions do, without a
  // place.
  BitRuns(std::span<const std::byte> bytes, int width, uint32_t most = UINT32_MAX);

  // Throw DataError if so many numbers are not there. T: uint8_t, uint32_t.
  template <class T>
  void read(T* to, size_t count);
  // The same, but gives table[number] for each number. False if a number is not below `size`, at most 2^32; then
  // nothing more may be read. T: uint8_t, uint32_t, uint64_t.
  template <class T>
  [[nodiscard]] bool look_up(const T* table, size_t size, T* to, size_t count);
  void skip(size_t count);
  // Passes `count` numbers, and returns how many of them are `wanted`.
  size_t skip_counting(size_t count, uint32_t wanted);
  // The number that the next `count` ones all are, if one run says so.
  std::optional<uint32_t> repeated(size_t count);

 private:
  // Makes left_ > 0.
  void next_run();

  const std::byte* at_ = nullptr;  // what comes after the run
  const std::byte* end_ = nullptr;
  const std::byte* run_ = nullptr;  // the packed numbers
  uint64_t left_ = 0;               // numbers of the run
  uint64_t bit_ = 0;                // of the run, of the next number
  uint32_t value_ = 0, most_ = 0;
  int width_ = 0;
  bool packed_ = false;
  bool checks_packed_ = false;  // their bits may be more than most_
};

}  // namespace millrace
