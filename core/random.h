// Random numbers that any thread or device can draw in any order: Philox4x32-10.
//
// key = the run's seed; counter = (fnv1a64(name of the op or parameter), index). So a draw depends only on seed, name
// and index. Test vectors are in docs/input_graph.md and in the tests.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "millrace/core/export.h"

namespace millrace {

// 64-bit FNV-1a. With the hash of other bytes it goes on: the result is the hash of those bytes and the text.
constexpr uint64_t fnv1a64(std::string_view text, uint64_t hash = 0xcbf29ce484222325u) {
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

struct PhiloxBlock {
  uint32_t word[4];
};

// Ten rounds of Philox4x32 on counter (stream, index) with key `seed`, each split low word first:
// counter words are {index low, index high, stream low, stream high}.
MILLRACE_HD inline PhiloxBlock philox(uint64_t seed, uint64_t stream, uint64_t index) {
  uint32_t c0 = static_cast<uint32_t>(index), c1 = static_cast<uint32_t>(index >> 32);
  uint32_t c2 = static_cast<uint32_t>(stream), c3 = static_cast<uint32_t>(stream >> 32);
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = static_cast<uint64_t>(0xD2511F53u) * c0;
    const uint64_t p1 = static_cast<uint64_t>(0xCD9E8D57u) * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// The first 64 bits of a draw, low word first.
MILLRACE_HD inline uint64_t philox64(uint64_t seed, uint64_t stream, uint64_t index) {
  const PhiloxBlock block = philox(seed, stream, index);
  return block.word[0] | static_cast<uint64_t>(block.word[1]) << 32;
}

// `bits` scaled to [0, n) by multiply-high.
inline uint64_t scale_to(uint64_t bits, uint64_t n) {
  __extension__ using u128 = unsigned __int128;
  return static_cast<uint64_t>((static_cast<u128>(bits) * n) >> 64);
}

// A double in (0, 1): the top 52 bits of `bits`, plus half a step. (With 53 bits the half would round up to 1.)
MILLRACE_HD inline double to_unit(uint64_t bits) {
  return (static_cast<double>(bits >> 12) + 0.5) * (1.0 / 4503599627370496.0);
}

// Two independent standard normals from one Philox block, by Box and Muller with this library's own log, sine and
// cosine: the same bits on every machine. Host only. REQUIRES: the default floating-point mode (FloatMode).
MILLRACE_EXPORT std::array<double, 2> normal_pair(const PhiloxBlock& block);

}  // namespace millrace
