// The random numbers of docs/input_graph.md, from the formulas there.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include "millrace/core/random.h"

namespace millrace::testing_support::reference {

inline uint64_t fnv1a64(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) {
    hash ^= static_cast<uint8_t>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

inline uint64_t philox64(uint64_t seed, uint64_t stream, uint64_t index) {
  const auto low = [](uint64_t bits) { return bits & 0xffffffff; };
  const auto high = [](uint64_t bits) { return bits >> 32; };
  uint64_t k0 = low(seed), k1 = high(seed);
  uint64_t c0 = low(index), c1 = high(index), c2 = low(stream), c3 = high(stream);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = 0xD2511F53 * c0, p1 = 0xCD9E8D57 * c2;
    c0 = high(p1) ^ c1 ^ k0;
    c1 = low(p1);
    c2 = high(p0) ^ c3 ^ k1;
    c3 = low(p0);
    k0 = low(k0 + 0x9E3779B9);
    k1 = low(k1 + 0xBB67AE85);
  }
  return c0 + (c1 << 32);
}

// REQUIRES: n < 2^32.
inline uint64_t scale_to(uint64_t bits, uint64_t n) {
  return ((bits >> 32) * n + ((bits & 0xffffffff) * n >> 32)) >> 32;
}

inline double to_unit(uint64_t bits) { return (std::floor(static_cast<double>(bits >> 12)) + 0.5) * 0x1p-52; }

}  // namespace millrace::testing_support::reference
