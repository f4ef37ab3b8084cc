// ChunkSizes: how large the chunks of a stream get, and so how many of them there should be. Only grows; not
// synchronised.
#pragma once

#include <cstdint>

#include "millrace/input/rows/row_block.h"

namespace millrace {

class ChunkSizes {
 public:
  // A chunk of `rows` rows needed `memory` for them, and `spare` for what its transforms wrote beside. True when any of
  // it is more than ever before.
  bool add(int64_t rows, const RowMemory& memory, const RowMemory& spare);

  // As many chunks as may exist at once while all are as large as the largest so far: `in_work`, and what holds
  // `ahead_rows` rows that wait.
  uint64_t wanted(int64_t ahead_rows, uint64_t in_work) const;
  // What every chunk needs for its rows; and every task, where some transform writes beside them.
  const RowMemory& memory() const { return memory_; }
  bool has_spares() const { return has_spares_; }

 private:
  int64_t most_rows_ = 0;
  RowMemory memory_;
  bool has_spares_ = false;
};

}  // namespace millrace
