// TextResources: what the compressed texts of one source share: memory for points, decoders to lend, and a guess.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "millrace/core/threads/mutex.h"
#include "millrace/input/compressed/text_decoder.h"

namespace millrace {

class CompressedText;

class TextResources {
 public:
  // Memory for the points of a file, and of all files of a source.
  static constexpr uint64_t kOfFile = uint64_t{8} << 20, kOfSource = uint64_t{256} << 20;

  // The most bytes of text that a range has, at first. There are more bytes of the file if the text hardly compresses,
  // and for what is between members and frames.
  static constexpr uint64_t kMostRange = uint64_t{8} << 20;
  uint64_t most_range() const { return most_range_; }
  uint64_t most_compressed() const { return most_range_ + most_range_ / 8; }
  // REQUIRES: nobody reads yet.
  void halve_ranges() { most_range_ /= 2; }

  // False if there is not so much left.
  bool take_memory(uint64_t bytes);
  void give_memory(uint64_t bytes);

  // A decoder that stands at `point` of the text, or further on the way to `offset`.
  std::unique_ptr<TextDecoder> take(const CompressedText& text, uint64_t offset, const TextPoint& point);
  // A decoder that is given back, if there is one, may be lent again where it stands.
  void give(const CompressedText& text, std::unique_ptr<TextDecoder> decoder) noexcept;

  // Whether the members and frames of this source end with a line, so that a record begins where one begins. A guess.
  bool end_with_lines() const { return end_with_lines_.load(std::memory_order_relaxed); }
  void learn_end(bool line) { end_with_lines_.store(line, std::memory_order_relaxed); }

 private:
  struct Idle {
    const CompressedText* text = nullptr;
    std::unique_ptr<TextDecoder> decoder = nullptr;
  };

  uint64_t most_range_ = kMostRange;
  Mutex mutex_;
  uint64_t memory_left_ MILLRACE_GUARDED_BY(mutex_) = kOfSource;
  std::vector<Idle> idle_ MILLRACE_GUARDED_BY(mutex_);  // the last was given back last
  std::atomic<bool> end_with_lines_{false};
};

}  // namespace millrace
