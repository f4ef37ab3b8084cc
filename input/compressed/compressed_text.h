// CompressedText: what is known about the text in one compressed file: from where it can be read, and how long it is.
// It learns while the file is read. Thread-safe; it holds no file open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "millrace/core/threads/mutex.h"
#include "millrace/input/compressed/text_decoder.h"
#include "millrace/input/compressed/text_resources.h"

namespace millrace {

// Text that can be read without what comes before.
struct TextRange {
  TextPoint begin, end;

  uint64_t text_bytes() const { return end.text - begin.text; }
  uint64_t compressed_bytes() const { return end.at - begin.at; }
  // Whether it consists of whole members or frames.
  bool whole() const { return !begin.window && !end.window; }
};

class MILLRACE_EXPORT CompressedText {
 public:
  // Points within members are about so far apart: more in a file that has too many of them, and as far that a point
  // takes at most half as much memory as the file's bytes that it spares.
  static constexpr uint64_t kDistance = uint64_t{4} << 20, kLeastBytes = 65536;
  // The window of a point has no more bytes.
  static constexpr size_t kMostInWindow = 32768;
  // A frame may need a window of so many bytes, if the first one needs as many; all may need kUsualWindow.
  static constexpr uint64_t kMostWindow = uint64_t{128} << 20, kUsualWindow = uint64_t{8} << 20;

  // `raw` is the file, opened. `shared` outlives this.
  CompressedText(CompressedBytes bytes, Compression how, TextResources& shared, const File& raw);
  ~CompressedText();
  CompressedText(const CompressedText&) = delete;
  CompressedText& operator=(const CompressedText&) = delete;

  const FileEntry& entry() const { return *bytes_.entry; }
  Compression kind() const { return kind_; }
  const CompressedBytes& compressed() const { return bytes_; }
  // Whether it is BGZF, whose blocks tell where the next one begins.
  bool has_blocks() const { return blocks_; }

  // Bytes of text; StreamFile::kUnknownSize until someone came to its end.
  uint64_t size() const;
  void set_size(uint64_t text_bytes);

  // The last known point at or before text offset `offset`.
  TextPoint before(uint64_t offset) const;
  // A range that begins at `point`: small members or frames that tell their lengths, together about `bytes` bytes of
  // text if they are no longer; or up to the next point. None if nothing is known, or if it is too long.
  std::optional<TextRange> range_at(const TextPoint& point, const File& raw, uint64_t bytes) const;

  // Whether a point at this place is of use; add() takes it, unless memory is short.
  bool wants(uint64_t text, uint64_t at) const;
  void add(const TextPoint& point);
  // Adds the place where the decoder is, if it is a point that is of use.
  void learn(const TextDecoder& decoder) {
    if (decoder.at_point() && wants(decoder.text(), decoder.at())) add(decoder.point());
  }
  // Says that the text up to `text` lies in the file up to `at`.
  void note(uint64_t text, uint64_t at);
  // About how many bytes of the file hold the text before `offset`.
  uint64_t bytes_before(uint64_t offset) const;

  // Upper bound of the text of a range, and of the memory for points.
  uint64_t most_range(uint64_t unit_bytes) const;
  uint64_t most_memory() const;

  // All but the first, which is the start.
  std::vector<TextPoint> points() const;
  // Takes a point that points() once gave, unless memory is short. Throws DataError for one that cannot be.
  void load(const TextPoint& point);

 private:
  static uint64_t memory_of(const TextPoint& point);
  std::optional<TextRange> blocks_at(const TextPoint& point, const File& raw, uint64_t bytes) const;
  std::optional<TextRange> frames_at(const TextPoint& point, const File& raw, uint64_t bytes) const;
  std::optional<TextRange> only_member(const TextPoint& point, const File& raw) const;
  std::optional<TextRange> up_to_next(const TextPoint& point) const;
  void thin() MILLRACE_REQUIRES(mutex_);

  CompressedBytes bytes_;
  const Compression kind_;
  TextResources& shared_;
  bool blocks_ = false;  // it begins with a BGZF block

  mutable Mutex mutex_;
  std::vector<TextPoint> points_ MILLRACE_GUARDED_BY(mutex_);  // ascending; the first is the start
  uint64_t memory_ MILLRACE_GUARDED_BY(mutex_) = 0;            // of all but the first
  uint64_t distance_ MILLRACE_GUARDED_BY(mutex_) = kDistance;
  uint64_t size_ MILLRACE_GUARDED_BY(mutex_);
  TextPoint front_ MILLRACE_GUARDED_BY(mutex_);  // how far it was read in this pass
};

}  // namespace millrace
