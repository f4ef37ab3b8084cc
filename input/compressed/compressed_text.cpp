#include "millrace/input/compressed/compressed_text.h"

#include <algorithm>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/input/files/stream_file.h"

namespace millrace {

namespace {

// Decoders that may wait to be lent.
constexpr size_t kMostIdle = 64;
// Input, state and window of zlib; input, state and a block of zstd.
constexpr uint64_t kGzipMemory = 131072, kZstdMemory = 524288;
// A file up to this size with one member is a range.
constexpr uint64_t kSmallFile = 262144;
// Text in a BGZF block.
constexpr uint64_t kMostInBlock = 65536;
// A block without text: two bytes of deflate, and the trailer.
constexpr uint64_t kEmptyBlock = kBgzfHeader + 2 + 8;

// Up to the end that the file had when it was matched.
size_t read_up_to(const CompressedBytes& bytes, const File& raw, uint64_t at, char* to, size_t wanted) {
  const uint64_t left = bytes.end - std::min(bytes.end, at);
  return left == 0 ? 0 : raw.read(at, to, static_cast<size_t>(std::min<uint64_t>(wanted, left)));
}

// Goes past the blocks of a zstd frame, up to about byte `end`. False if they do not end there.
bool pass_frame_blocks(const CompressedBytes& bytes, const File& raw, uint64_t end, uint64_t& at) {
  while (at < end) {
    char header[3];
    if (read_up_to(bytes, raw, at, header, sizeof header) < sizeof header) return false;
    const uint64_t fields = little_endian({header, sizeof header});
    const uint64_t type = fields >> 1 & 3;
    constexpr uint64_t kOneByteRepeated = 1, kReserved = 3;
    if (type == kReserved) return false;
    at += sizeof header + (type == kOneByteRepeated ? 1 : fields >> 3);
    if ((fields & 1) != 0) return true;
  }
  return false;
}

// How much text must be held to read the first frame.
uint64_t window_of_first(const CompressedBytes& bytes, const File& raw) {
  constexpr int kLookedAt = 16;
  uint64_t at = bytes.begin;
  for (int i = 0; i < kLookedAt; ++i) {
    char start[kZstdHeader];
    const std::optional<ZstdHeader> header = zstd_header({start, read_up_to(bytes, raw, at, start, sizeof start)});
    if (!header) break;
    if (!header->skippable) return std::min(header->window, header->text.value_or(UINT64_MAX));
    at += header->bytes;
  }
  return 0;
}

uint64_t memory_of(const TextPoint& point) { return sizeof point + (point.window ? point.window->size() : 0); }

}  // namespace

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
      best = std::ranges::find_if(idle_, [&](const Idle& one) { return one.decoder->kind() == text.kind(); });
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

void TextResources::give(const CompressedText* text, std::unique_ptr<TextDecoder> decoder) noexcept {
  if (!decoder) return;
  Idle oldest;  // outlives the lock
  const MutexLock lock(mutex_);
  try {
    if (idle_.size() >= kMostIdle) {
      oldest = std::move(idle_.front());
      idle_.erase(idle_.begin());
    }
    idle_.push_back({text, std::move(decoder)});
  } catch (...) {  // then it is not kept
  }
}

CompressedText::CompressedText(CompressedBytes bytes, Compression how, TextResources& shared, const File& raw)
    : bytes_(std::move(bytes)), kind_(how), shared_(shared), points_(1), size_(StreamFile::kUnknownSize) {
  points_.front().at = bytes_.begin;
  if (how == Compression::gzip) {
    char start[kBgzfHeader];
    blocks_ = bgzf_block_bytes({start, read_up_to(bytes_, raw, bytes_.begin, start, sizeof start)}) > 0;
  } else if (how == Compression::zstd) {
    bytes_.most_window = std::clamp(window_of_first(bytes_, raw), kUsualWindow, kMostWindow);
  }
}

bool CompressedText::lacks_end(const File& raw) const {
  if (!blocks_) return false;
  char start[kBgzfHeader];
  const uint64_t at = bytes_.end - std::min(bytes_.end, kEmptyBlock);
  return bgzf_block_bytes({start, read_up_to(bytes_, raw, at, start, sizeof start)}) != kEmptyBlock;
}

uint64_t CompressedText::size() const {
  const MutexLock lock(mutex_);
  return size_;
}

void CompressedText::set_size(uint64_t text_bytes) {
  note(text_bytes, bytes_.end);
  const MutexLock lock(mutex_);
  size_ = text_bytes;
}

void CompressedText::note(uint64_t text, uint64_t at) {
  const MutexLock lock(mutex_);
  if (text < seen_text_) return;
  seen_text_ = text;
  seen_bytes_ = at;
}

uint64_t CompressedText::bytes_before(uint64_t offset) const {
  const MutexLock lock(mutex_);
  if (offset >= seen_text_) return seen_bytes_;
  return static_cast<uint64_t>(static_cast<double>(offset) / static_cast<double>(seen_text_) *
                               static_cast<double>(seen_bytes_));
}

TextPoint CompressedText::before(uint64_t offset) const {
  const MutexLock lock(mutex_);
  return *std::prev(std::ranges::upper_bound(points_, offset, {}, &TextPoint::text));
}

std::optional<TextRange> CompressedText::range_at(const TextPoint& point, const File& raw, uint64_t bytes) const {
  std::optional<TextRange> range;
  if (!point.window) range = pieces_at(point, raw, bytes);
  return range ? range : up_to_next(point);
}

std::optional<TextRange> CompressedText::pieces_at(const TextPoint& point, const File& raw, uint64_t bytes) const {
  TextPoint end = {.text = point.text, .at = point.at};
  while (end.at < bytes_.end) {
    const std::optional<Piece> piece = piece_at(end.at, raw);
    if (!piece || piece->text > shared_.most_range() || piece->bytes > bytes_.end - end.at ||
        end.at + piece->bytes - point.at > shared_.most_compressed() ||
        (end.text > point.text && end.text + piece->text - point.text > bytes)) {
      break;
    }
    end.text += piece->text;
    end.at += piece->bytes;
  }
  return end.at > point.at ? std::optional(TextRange{point, end}) : std::nullopt;
}

std::optional<CompressedText::Piece> CompressedText::piece_at(uint64_t at, const File& raw) const {
  if (kind_ == Compression::zstd) return frame_at(at, raw);
  if (blocks_) return block_at(at, raw);
  return kind_ == Compression::gzip && at == 0 ? only_member(raw) : std::nullopt;
}

std::optional<CompressedText::Piece> CompressedText::block_at(uint64_t at, const File& raw) const {
  constexpr size_t kTextBytes = 4;
  char bytes[kBgzfHeader];
  const uint64_t block = bgzf_block_bytes({bytes, read_up_to(bytes_, raw, at, bytes, sizeof bytes)});
  // Its last bytes tell how much text it has.
  if (block == 0 || read_up_to(bytes_, raw, at + block - kTextBytes, bytes, kTextBytes) < kTextBytes) return {};
  const uint64_t text = little_endian({bytes, kTextBytes});
  // Nobody reads a block that says it has no text, so it must be too short to have any.
  if (text == 0 && block != kEmptyBlock) return {};
  return text <= kMostInBlock ? std::optional(Piece{block, text}) : std::nullopt;
}

std::optional<CompressedText::Piece> CompressedText::frame_at(uint64_t at, const File& raw) const {
  char start[kZstdHeader];
  const std::optional<ZstdHeader> header = zstd_header({start, read_up_to(bytes_, raw, at, start, sizeof start)});
  if (!header || header->dictionary) return {};
  if (header->skippable) return Piece{header->bytes, 0};
  if (header->text.value_or(UINT64_MAX) > shared_.most_range()) return {};
  uint64_t end = at + header->bytes;
  if (!pass_frame_blocks(bytes_, raw, at + shared_.most_compressed(), end)) return {};
  // As with blocks: the header of a block alone has none.
  constexpr uint64_t kBlockHeader = 3;
  if (*header->text == 0 && end - at != header->bytes + kBlockHeader) return {};
  return Piece{end + (header->checksum ? 4 : 0) - at, *header->text};
}

// A small file with a single member, whose last bytes tell how much text it has.
std::optional<CompressedText::Piece> CompressedText::only_member(const File& raw) const {
  constexpr size_t kLeast = 18, kTextBytes = 4;
  if (bytes_.end > kSmallFile || bytes_.end < kLeast) return {};
  std::string all(static_cast<size_t>(bytes_.end), '\0');
  if (raw.read(0, all.data(), all.size()) < all.size()) return {};
  const std::string_view view = all;
  for (size_t at = 1; (at = view.find("\x1f\x8b\x08", at)) != view.npos; ++at) {
    if (compression_of(view.substr(at)) == Compression::gzip) return {};
  }
  const uint64_t text = little_endian(view.substr(view.size() - kTextBytes));
  return text > 0 ? std::optional(Piece{bytes_.end, text}) : std::nullopt;
}

std::optional<TextRange> CompressedText::up_to_next(const TextPoint& point) const {
  const MutexLock lock(mutex_);
  const auto next = std::ranges::upper_bound(points_, point.text, {}, &TextPoint::text);
  TextRange range = {point, {.text = size_, .at = bytes_.end}};
  if (next != points_.end()) range.end = *next;
  const bool known = range.end.text > point.text && range.end.text < StreamFile::kUnknownSize;
  if (!known || range.text_bytes() > shared_.most_range() || range.compressed_bytes() > shared_.most_compressed())
    return {};
  return range;
}

bool CompressedText::wants(uint64_t text, uint64_t at) const {
  const MutexLock lock(mutex_);
  return is_wanted(text, at);
}

bool CompressedText::is_wanted(uint64_t text, uint64_t at) const {
  const auto next = std::ranges::upper_bound(points_, text, {}, &TextPoint::text);
  const TextPoint& last = *std::prev(next);
  return text >= last.text + distance_ && at >= last.at + kLeastBytes &&
         (next == points_.end() || next->text >= text + distance_);
}

void CompressedText::add(const TextPoint& point) {
  const uint64_t bytes = memory_of(point);
  const MutexLock lock(mutex_);
  while (is_wanted(point.text, point.at)) {
    if (memory_ + bytes <= shared_.point_memory()) {
      memory_ += bytes;
      points_.insert(std::ranges::upper_bound(points_, point.text, {}, &TextPoint::text), point);
      return;
    }
    if (points_.size() == 1) return;
    thin();
  }
}

// Gives up every second point.
void CompressedText::thin() {
  size_t kept = 1;
  for (size_t i = 1; i < points_.size(); ++i) {
    if (i % 2 == 0) {
      points_[kept++] = std::move(points_[i]);
    } else {
      memory_ -= memory_of(points_[i]);
    }
  }
  points_.resize(kept);
  distance_ *= 2;
}

size_t CompressedText::read(TextDecoder& decoder, const File& raw, char* to, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    try {
      const size_t got = decoder.read(raw, to + done, bytes - done);
      if (got == 0) break;
      done += got;
      learn(decoder);
    } catch (const Error&) {
      if (done == 0) throw;
      break;
    }
  }
  return done;
}

bool CompressedText::skip(TextDecoder& decoder, const File& raw, uint64_t offset) {
  if (!decoder.skip(raw, offset)) return false;
  learn(decoder);
  return true;
}

void CompressedText::learn(const TextDecoder& decoder) {
  note(decoder.text(), decoder.at());
  const TextPoint& start = decoder.last_start();
  if (wants(start.text, start.at)) add(start);
  if (decoder.at_point() && wants(decoder.text(), decoder.at())) add(decoder.point());
}

TextBounds CompressedText::bounds(uint64_t unit_bytes) const {
  const bool zstd = kind_ == Compression::zstd;
  const uint64_t windows = zstd || blocks_ ? 0 : kMostInWindow;
  // Deflate makes no more text of its bytes.
  constexpr uint64_t kMostRatio = 1032;
  const uint64_t range = zstd ? shared_.most_range() : std::min(shared_.most_range(), bytes_.end * kMostRatio);
  return {.range = blocks_ ? std::max(unit_bytes, kMostInBlock) : range,
          .decoder = zstd ? kZstdMemory + bytes_.most_window : kGzipMemory,
          .points = std::min(shared_.point_memory(), bytes_.end / kLeastBytes * (sizeof(TextPoint) + windows))};
}

TextBounds CompressedText::unknown_bounds(const FileEntry& file, const TextResources& shared) {
  return {.range = shared.most_range(),
          .decoder = kZstdMemory + kUsualWindow,
          .points = std::min(shared.point_memory(), file.size / 2)};
}

std::vector<TextPoint> CompressedText::points() const {
  const MutexLock lock(mutex_);
  return {points_.begin() + 1, points_.end()};
}

void CompressedText::load(const TextPoint& point) {
  const size_t window = point.window ? point.window->size() : 0;
  const MutexLock lock(mutex_);
  const auto next = std::ranges::upper_bound(points_, point.text, {}, &TextPoint::text);
  const bool in_order = point.at >= std::prev(next)->at && (next == points_.end() || point.at <= next->at);
  if (!in_order || point.at <= bytes_.begin || point.at > bytes_.end || window > kMostInWindow ||
      (window > 0 && kind_ != Compression::gzip)) {
    throw DataError(
        cat("the saved state has a wrong place in the compressed data: byte ", point.at, ", text ", point.text),
        {entry().path});
  }
  const uint64_t bytes = memory_of(point);
  if (std::prev(next)->text == point.text || memory_ + bytes > shared_.point_memory()) return;
  memory_ += bytes;
  points_.insert(next, point);
}

}  // namespace millrace
