// TextUnits: cuts the text of one compressed file into units, in order. Text that can be read by itself (members and
// frames that tell their lengths, text between two known points) becomes a range that a task decodes. Any other text
// comes in parts, which are decoded here (TextInOrder).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "millrace/core/threads/mutex.h"
#include "millrace/input/compressed/compressed_files.h"
#include "millrace/input/files/stream_file.h"
#include "millrace/input/rows/chunk.h"

namespace millrace {

class TextInOrder;

// The part of a unit of compressed text: either bytes, or a range, which the task decodes.
struct TextPart : StreamPart {
  TextPart() = default;
  ~TextPart();
  TextPart(const TextPart&) = delete;
  TextPart& operator=(const TextPart&) = delete;

  std::shared_ptr<const TextInOrder> in_order = nullptr;  // null: a range
  TextRange range = {};
};

struct TextSettings {
  uint64_t begin = 0;                              // where the text starts that is wanted
  uint64_t unit_bytes = 262144;                    // of a part, at most; it ends after a line end, if it has one
  const std::atomic<bool>* interrupted = nullptr;  // ends the way to `begin`
};

// One thread at a time.
class TextUnits {
 public:
  // `files` and `text` outlive this and the units.
  TextUnits(CompressedFiles& files, CompressedText& text, const TextSettings& settings);

  // Sets the unit's end and its part; unit.begin comes in as where the last unit ended. Whether the text may go on
  // after it; if not, the unit may be empty. Throws DataError, IoError.
  bool next(Unit& unit);

 private:
  CompressedFiles& files_;
  CompressedText& text_;
  TextSettings settings_;
  TextPoint next_;
  std::shared_ptr<TextInOrder> in_order_;
};

// Text that can only be read from its start on. One thread takes it part by part, as from a pipe; whoever has a part
// may read on after it. Thread-safe.
class TextInOrder final : public File, public std::enable_shared_from_this<TextInOrder> {
 public:
  // The decoder starts at `from`.
  TextInOrder(CompressedFiles& files, CompressedText& text, const TextPoint& from, const TextSettings& settings);
  ~TextInOrder() override;

  // The next part; null at the end of the text, and when it was interrupted. `raw` is the file. Throws DataError after
  // all text before the error; IoError. REQUIRES: a shared_ptr holds this.
  std::shared_ptr<const TextPart> next(const File& raw);
  // Reads the text after a part; 0 at the end.
  size_t read(uint64_t offset, void* to, size_t bytes) const override;
  uint64_t size() const override { return files_.raw(text_.entry())->size(); }

  // Takes the memory of a part that nobody has any more.
  void reuse(std::string bytes) const noexcept;

 private:
  bool go_to_begin(const File& raw) MILLRACE_REQUIRES(mutex_);
  size_t decode(const File& raw, char* to, size_t bytes) const MILLRACE_REQUIRES(mutex_);
  size_t copy_held(uint64_t offset, char* to, size_t bytes) const MILLRACE_REQUIRES(mutex_);
  std::string take_memory() const;

  CompressedFiles& files_;
  CompressedText& text_;
  const TextSettings settings_;

  mutable Mutex mutex_;
  mutable std::unique_ptr<TextDecoder> decoder_ MILLRACE_GUARDED_BY(mutex_);
  // Text that was decoded and is of no part yet, from rest_begin_ on.
  mutable std::string rest_ MILLRACE_GUARDED_BY(mutex_);
  uint64_t rest_begin_ MILLRACE_GUARDED_BY(mutex_) = 0;
  bool at_line_ MILLRACE_GUARDED_BY(mutex_) = true;  // whether rest_ begins a line
  std::deque<std::weak_ptr<const TextPart>> taken_ MILLRACE_GUARDED_BY(mutex_);

  mutable Mutex memory_mutex_;
  mutable std::vector<std::string> memory_ MILLRACE_GUARDED_BY(memory_mutex_);
};

}  // namespace millrace
