// Eight bytes as one number.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace millrace {

// The lowest and the highest bit of every byte.
inline constexpr uint64_t kLowBits = 0x0101010101010101u;
inline constexpr uint64_t kHighBits = 0x8080808080808080u;

// Loads eight bytes; the first becomes the lowest.
inline uint64_t load_word(const char* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

}  // namespace millrace
