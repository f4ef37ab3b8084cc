// CompressedText: what is known about the text in one compressed file: from where it can be read, and how long it is.
// It learns while the file is read. TextResources: what the texts of one source share. Thread-safe; they hold no file
// open.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "millrace/core/threads/mutex.h"
#include "millrace/input/compressed/text_decoder.h"

namespace millrace {

class CompressedText;

class TextResources {
 public:
  // Memory for the points of a file, and of all files of a source.
  static constexpr uint64_t kOfFile = uint64_t{8} << 20, kOfSource = uint64_t{256} << 20;
  explicit TextResources(size_t files = 1) : point_memory_(std::min(kOfFile, kOfSource / std::max<size_t>(files, 1))) {}

  // For the points of each file.
  uint64_t point_memory() const { return point_memory_; }

  // The most bytes of text that a range has, at first. There are more bytes of the file if the text hardly compresses,
  // and for what is between members and frames.
  static constexpr uint64_t kMostRange = uint64_t{8} << 20;
  uint64_t most_range() const { return most_range_; }
  uint64_t most_compressed() const { return most_range_ + most_range_ / 8; }
  // REQUIRES: nobody reads yet.
  void halve_ranges() { most_range_ /= 2; }

  // A decoder that stands at `point` of the text, or further on the way to `offset`.
  std::unique_ptr<TextDecoder> take(const CompressedText& text, uint64_t offset, const TextPoint& point);
  // A decoder that is given back, if there is one, may be lent again where it stands in `text`; without a text only its
  // memory is of use.
  void give(const CompressedText* text, std::unique_ptr<TextDecoder> decoder) noexcept;

  // Whether the members and frames of this source end with a line, so that a record begins where one begins. A guess.
  bool end_with_lines() const { return end_with_lines_.load(std::memory_order_relaxed); }
  void learn_end(bool line) { end_with_lines_.store(line, std::memory_order_relaxed); }

 private:
  struct Idle {
    const CompressedText* text = nullptr;
    std::unique_ptr<TextDecoder> decoder = nullptr;
  };

  const uint64_t point_memory_;
  uint64_t most_range_ = kMostRange;
  Mutex mutex_;
  std::vector<Idle> idle_ MILLRACE_GUARDED_BY(mutex_);  // the last was given back last
  std::atomic<bool> end_with_lines_{false};
};

// Text that can be read without what comes before.
struct TextRange {
  TextPoint begin, end;

  uint64_t text_bytes() const { return end.text - begin.text; }
  uint64_t compressed_bytes() const { return end.at - begin.at; }
  // Whether it consists of whole members or frames.
  bool whole() const { return !begin.window && !end.window; }
};

// Upper bounds; all 0 without compressed files.
struct TextBounds {
  uint64_t range = 0;    // the text that a task reads at once
  uint64_t decoder = 0;  // the memory of a decoder
  uint64_t points = 0;   // the memory for points
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

  const FileEntry& entry() const { return *bytes_.entry; }
  Compression kind() const { return kind_; }
  const CompressedBytes& compressed() const { return bytes_; }
  TextResources& shared() const { return shared_; }
  // Whether it is BGZF, whose blocks tell where the next one begins.
  bool has_blocks() const { return blocks_; }
  // Whether it is BGZF that does not end with the empty block that bgzip puts there: a file that was cut between two
  // blocks shows it by nothing else.
  bool lacks_end(const File& raw) const;
  // If units have about `unit_bytes` bytes.
  TextBounds bounds(uint64_t unit_bytes) const;
  // Of a file that nobody looked at yet.
  static TextBounds unknown_bounds(const FileEntry& file, const TextResources& shared);

  // Bytes of text; StreamFile::kUnknownSize until someone came to its end.
  uint64_t size() const;
  void set_size(uint64_t text_bytes);
  // Says that the text up to `text` lies in the file up to `at`.
  void note(uint64_t text, uint64_t at);
  // About how many bytes of the file hold the text before `offset`.
  uint64_t bytes_before(uint64_t offset) const;

  // The last known point at or before text offset `offset`.
  TextPoint before(uint64_t offset) const;
  // A range that begins at `point`: small members or frames that tell their lengths, together about `bytes` bytes of
  // text if they are no longer; or up to the next point. None if nothing is known, or if it is too long.
  std::optional<TextRange> range_at(const TextPoint& point, const File& raw, uint64_t bytes) const;
  // Whether a point at this place is of use.
  bool wants(uint64_t text, uint64_t at) const;
  // Takes the point if it is of use and there is memory.
  void add(const TextPoint& point);

  // Reads on with a decoder of this text, and learns on the way. Fewer bytes only at the end of what it reads, and
  // before an error, which the next call throws.
  size_t read(TextDecoder& decoder, const File& raw, char* to, size_t bytes);
  // Reads on, a little, on the way to `offset`. False if the decoder is there, or at the end.
  bool skip(TextDecoder& decoder, const File& raw, uint64_t offset);

  // All but the first, which is the start.
  std::vector<TextPoint> points() const;
  // Takes a point that points() once gave, unless memory is short. Throws DataError for one that cannot be.
  void load(const TextPoint& point);

 private:
  // A member or frame that tells how long it is.
  struct Piece {
    uint64_t bytes = 0, text = 0;
  };
  std::optional<TextRange> pieces_at(const TextPoint& point, const File& raw, uint64_t bytes) const;
  std::optional<Piece> piece_at(uint64_t at, const File& raw) const;
  std::optional<Piece> block_at(uint64_t at, const File& raw) const;
  std::optional<Piece> frame_at(uint64_t at, const File& raw) const;
  std::optional<Piece> only_member(const File& raw) const;
  std::optional<TextRange> up_to_next(const TextPoint& point) const;
  void learn(const TextDecoder& decoder);
  bool is_wanted(uint64_t text, uint64_t at) const MILLRACE_REQUIRES(mutex_);
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
  uint64_t seen_text_ MILLRACE_GUARDED_BY(mutex_) = 0, seen_bytes_ MILLRACE_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace
