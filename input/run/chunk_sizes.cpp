#include "millrace/input/run/chunk_sizes.h"

#include <algorithm>

namespace millrace {

namespace {

// Chunks that may wait besides those in work, whatever the capacity: more hide no delay that these do not.
constexpr int64_t kMostAhead = 256;

}  // namespace

bool ChunkSizes::add(int64_t rows, const RowMemory& memory, const RowMemory& spare) {
  has_spares_ = has_spares_ || spare.bytes > 0;
  if (rows <= most_rows_ && memory_.covers(memory) && memory_.covers(spare)) return false;
  most_rows_ = std::max(most_rows_, rows);
  memory_.cover(memory);
  memory_.cover(spare);
  return true;
}

uint64_t ChunkSizes::wanted(int64_t ahead_rows, uint64_t in_work) const {
  if (most_rows_ == 0) return in_work;
  return in_work + static_cast<uint64_t>(std::min((ahead_rows + most_rows_ - 1) / most_rows_, kMostAhead));
}

}  // namespace millrace
