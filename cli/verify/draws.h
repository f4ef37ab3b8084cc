// Draws: random numbers, the same for the same seed on every machine. Used by one thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "millrace/core/random.h"

namespace millrace::cli {

class Draws {
 public:
  Draws(uint64_t seed, std::string_view name) : seed_(seed), stream_(fnv1a64(name)) {}

  // A number from 0 to n - 1. REQUIRES: n > 0.
  uint64_t below(uint64_t n) { return scale_to(philox64(seed_, stream_, next_++), n); }
  // A number in (0, 1).
  double unit() { return to_unit(philox64(seed_, stream_, next_++)); }
  // An item of the list. REQUIRES: the list is not empty.
  template <class List>
  const auto& of(const List& list) {
    return list[below(list.size())];
  }

 private:
  uint64_t seed_, stream_, next_ = 0;
};

}  // namespace millrace::cli
