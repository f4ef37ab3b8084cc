// StringText: a ChunkText over a string that comes in pieces.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "millrace/input/rows/chunk.h"

namespace millrace::testing_support {

class StringText : public ChunkText {
 public:
  // `piece`: bytes that there are at first, and that each extend() adds.
  StringText(std::string text, uint64_t offset, uint64_t limit, size_t piece = SIZE_MAX)
      : text_(std::move(text)), piece_(piece) {
    offset_ = offset;
    limit_ = limit;
    show(piece_);
  }
  explicit StringText(const std::string& text) : StringText(text, 0, text.size()) {}

  // Moves, as a text may.
  void extend() override { show(size_ + std::min(piece_, text_.size())); }

 private:
  void show(size_t size) {
    size_ = std::min(size, text_.size());
    shown_ = std::string(text_, 0, size_);
    data_ = shown_.data();
    at_end_ = size_ == text_.size();
  }

  std::string text_, shown_;
  size_t piece_;
};

}  // namespace millrace::testing_support
