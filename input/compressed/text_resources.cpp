#include "millrace/input/compressed/text_resources.h"

#include <algorithm>
#include <utility>

#include "millrace/input/compressed/compressed_text.h"

namespace millrace {

namespace {

// Decoders that may wait to be lent.
constexpr size_t kMostIdle = 64;

}  // namespace

bool TextResources::take_memory(uint64_t bytes) {
  const MutexLock lock(mutex_);
  if (bytes > memory_left_) return false;
  memory_left_ -= bytes;
  return true;
}

void TextResources::give_memory(uint64_t bytes) {
  const MutexLock lock(mutex_);
  memory_left_ += bytes;
}

std::unique_ptr<TextDecoder> TextResources::take(const CompressedText& text, uint64_t offset, const TextPoint& point) {
  std::unique_ptr<TextDecoder> decoder;
  bool on_the_way = false;
  {
    const MutexLock lock(mutex_);
    auto best = idle_.end();
    for (auto one = idle_.begin(); one != idle_.end(); ++one) {
      const uint64_t at = one->decoder->text();
      if (one->text != &text || one->decoder->failed() || at < point.text || at > offset) continue;
      if (best == idle_.end() || at > best->decoder->text()) best = one;
    }
    on_the_way = best != idle_.end();
    if (!on_the_way) {
      best = std::ranges::find_if(idle_, [&](const Idle& one) { return one.text->kind() == text.kind(); });
    }
    if (best != idle_.end()) {
      decoder = std::move(best->decoder);
      idle_.erase(best);
    }
  }
  if (!decoder) decoder = make_decoder(text.kind(), text.entry().path);
  if (!on_the_way) decoder->start(text.compressed(), point);
  return decoder;
}

void TextResources::give(const CompressedText& text, std::unique_ptr<TextDecoder> decoder) noexcept {
  if (!decoder) return;
  Idle oldest;  // outlives the lock
  const MutexLock lock(mutex_);
  try {
    if (idle_.size() >= kMostIdle) {
      oldest = std::move(idle_.front());
      idle_.erase(idle_.begin());
    }
    idle_.push_back({&text, std::move(decoder)});
  } catch (...) {  // then it is not kept
  }
}

}  // namespace millrace
