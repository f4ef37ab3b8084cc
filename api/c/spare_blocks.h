// Blocks that no batch of a C program has now, for later batches.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "millrace/core/threads/mutex.h"
#include "millrace/input/rows/row_block.h"

namespace millrace::c {

// Any thread.
class SpareBlocks {
 public:
  SpareBlocks() { blocks_.reserve(kMost); }
  std::optional<RowBlock> take() {
    const MutexLock lock(mutex_);
    if (blocks_.empty()) return {};
    std::optional<RowBlock> block(std::move(blocks_.back()));
    blocks_.pop_back();
    return block;
  }
  void give_back(RowBlock block) noexcept {
    const MutexLock lock(mutex_);
    if (blocks_.size() < kMost) blocks_.push_back(std::move(block));
  }

 private:
  static constexpr size_t kMost = 8;
  Mutex mutex_;
  std::vector<RowBlock> blocks_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::c
