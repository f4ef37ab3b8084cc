// RowOrder: the order of n rows in each pass, as they are or shuffled as a whole. A shuffled order is a permutation
// that is computed row by row, so it takes no memory however many rows there are. Pure functions.
#pragma once

#include <cstdint>
#include <optional>

namespace millrace {

class RowOrder {
 public:
  struct Settings {
    uint64_t rows = 0;
    bool shuffle = false;
    uint64_t seed = 0, stream = 0;              // of the permutations
    uint64_t shard_index = 0, shard_count = 1;  // only every shard_count-th place of each order, from shard_index on
  };
  RowOrder() = default;
  explicit RowOrder(const Settings& settings);

  // How many rows a pass has.
  uint64_t places() const;
  // The row at `place` of the pass. REQUIRES: place < places().
  uint64_t row(uint32_t pass, uint64_t place) const;
  // Where in the pass the row stands, if the pass has it.
  std::optional<uint64_t> place(uint32_t pass, uint64_t row) const;

 private:
  uint64_t step(uint64_t key, uint64_t number, bool back) const;
  uint64_t walk(uint32_t pass, uint64_t number, bool back) const;

  Settings settings_;
  uint64_t lefts_ = 1, rights_ = 1;  // a number is left * rights_ + right
};

}  // namespace millrace
