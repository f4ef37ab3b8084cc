#include "millrace/input/compressed/compressed_text.h"

#include <algorithm>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/input/files/stream_file.h"

namespace millrace {

namespace {

// A file up to this size with one member is a range.
constexpr uint64_t kSmallFile = 262144;
// Text in a BGZF block.
constexpr uint64_t kMostInBlock = 65536;

// Up to the end that the file had when it was matched.
size_t read_up_to(const CompressedBytes& bytes, const File& raw, uint64_t at, char* to, size_t wanted) {
  const uint64_t left = bytes.end - std::min(bytes.end, at);
  return left == 0 ? 0 : raw.read(at, to, static_cast<size_t>(std::min<uint64_t>(wanted, left)));
}

// Goes past the blocks of a zstd frame. False if they do not end in the file.
bool pass_frame_blocks(const CompressedBytes& bytes, const File& raw, uint64_t& at) {
  for (;;) {
    char header[3];
    if (read_up_to(bytes, raw, at, header, sizeof header) < sizeof header) return false;
    const uint64_t fields = little_endian({header, sizeof header});
    const uint64_t type = fields >> 1 & 3;
    constexpr uint64_t kOneByteRepeated = 1, kReserved = 3;
    if (type == kReserved) return false;
    at += sizeof header + (type == kOneByteRepeated ? 1 : fields >> 3);
    if ((fields & 1) != 0) return true;
  }
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

}  // namespace

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

CompressedText::~CompressedText() { shared_.give_memory(memory_); }

uint64_t CompressedText::size() const {
  const MutexLock lock(mutex_);
  return size_;
}

void CompressedText::set_size(uint64_t text_bytes) {
  const MutexLock lock(mutex_);
  size_ = text_bytes;
}

TextPoint CompressedText::before(uint64_t offset) const {
  const MutexLock lock(mutex_);
  return *std::prev(std::ranges::upper_bound(points_, offset, {}, &TextPoint::text));
}

std::optional<TextRange> CompressedText::range_at(const TextPoint& point, const File& raw, uint64_t bytes) const {
  std::optional<TextRange> range;
  if (!point.window && blocks_) range = blocks_at(point, raw, bytes);
  if (!point.window && kind_ == Compression::zstd) range = frames_at(point, raw, bytes);
  if (!range) range = up_to_next(point);
  return range || point.at > 0 || kind_ != Compression::gzip ? range : only_member(point, raw);
}

std::optional<TextRange> CompressedText::blocks_at(const TextPoint& point, const File& raw, uint64_t bytes) const {
  constexpr size_t kTextBytes = 4;
  TextPoint end = {.text = point.text, .at = point.at};
  // The last bytes of a block, which tell how much text it has, and the header of the next one.
  char both[kTextBytes + kBgzfHeader];
  size_t got = read_up_to(bytes_, raw, end.at, both + kTextBytes, kBgzfHeader);
  for (;;) {
    const uint64_t block = bgzf_block_bytes({both + kTextBytes, got});
    if (block == 0 || block > bytes_.end - end.at || end.at + block - point.at > shared_.most_compressed()) break;
    got = read_up_to(bytes_, raw, end.at + block - kTextBytes, both, sizeof both);
    if (got < kTextBytes) break;
    got -= kTextBytes;
    const uint64_t text = little_endian({both, kTextBytes});
    if (text > kMostInBlock || (end.text > point.text && end.text + text - point.text > bytes)) break;
    end.text += text;
    end.at += block;
  }
  return end.at > point.at ? std::optional(TextRange{point, end}) : std::nullopt;
}

std::optional<TextRange> CompressedText::frames_at(const TextPoint& point, const File& raw, uint64_t bytes) const {
  TextPoint end = {.text = point.text, .at = point.at};
  for (;;) {
    char start[kZstdHeader];
    const std::optional<ZstdHeader> header = zstd_header({start, read_up_to(bytes_, raw, end.at, start, sizeof start)});
    if (!header || header->dictionary) break;
    uint64_t at = end.at + header->bytes, text = 0;
    if (!header->skippable) {
      text = header->text.value_or(UINT64_MAX);
      if (text > shared_.most_range() || (end.text > point.text && end.text + text - point.text > bytes)) break;
      if (!pass_frame_blocks(bytes_, raw, at)) break;
      at += header->checksum ? 4 : 0;
    }
    if (at > bytes_.end || at - point.at > shared_.most_compressed()) break;
    end.at = at;
    end.text += text;
  }
  return end.at > point.at ? std::optional(TextRange{point, end}) : std::nullopt;
}

// A small file is a range if it has a single member, so that its last bytes tell how much text it has.
std::optional<TextRange> CompressedText::only_member(const TextPoint& point, const File& raw) const {
  constexpr size_t kLeast = 18, kTextBytes = 4;
  if (bytes_.end > kSmallFile || bytes_.end < kLeast) return {};
  std::string all(static_cast<size_t>(bytes_.end), '\0');
  if (raw.read(0, all.data(), all.size()) < all.size()) return {};
  const std::string_view view = all;
  for (size_t at = 1; (at = view.find("\x1f\x8b\x08", at)) != view.npos; ++at) {
    if (compression_of(view.substr(at)) == Compression::gzip) return {};
  }
  const uint64_t text = little_endian(view.substr(view.size() - kTextBytes));
  if (text == 0 || text > shared_.most_range()) return {};
  return TextRange{point, {.text = text, .at = bytes_.end}};
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
  const auto next = std::ranges::upper_bound(points_, text, {}, &TextPoint::text);
  const TextPoint& last = *std::prev(next);
  return text >= last.text + distance_ && at >= last.at + kLeastBytes &&
         (next == points_.end() || next->text >= text + distance_);
}

void CompressedText::add(const TextPoint& point) {
  const uint64_t bytes = memory_of(point);
  while (wants(point.text, point.at)) {
    const MutexLock lock(mutex_);
    if (memory_ + bytes <= TextResources::kOfFile && shared_.take_memory(bytes)) {
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
      continue;
    }
    memory_ -= memory_of(points_[i]);
    shared_.give_memory(memory_of(points_[i]));
  }
  points_.resize(kept);
  distance_ *= 2;
}

void CompressedText::note(uint64_t text, uint64_t at) {
  const MutexLock lock(mutex_);
  front_.text = text;
  front_.at = at;
}

uint64_t CompressedText::bytes_before(uint64_t offset) const {
  const MutexLock lock(mutex_);
  const auto next = std::ranges::upper_bound(points_, offset, {}, &TextPoint::text);
  std::pair<uint64_t, uint64_t> low = {std::prev(next)->text, std::prev(next)->at}, high = {size_, bytes_.end};
  if (next != points_.end()) high = {next->text, next->at};
  if (front_.text <= offset && front_.text > low.first) low = {front_.text, front_.at};
  if (front_.text > offset && front_.text < high.first) high = {front_.text, front_.at};
  if (offset >= high.first) return high.second;
  const double share = static_cast<double>(offset - low.first) / static_cast<double>(high.first - low.first);
  return low.second +
         static_cast<uint64_t>(share * static_cast<double>(high.second - std::min(low.second, high.second)));
}

uint64_t CompressedText::most_range(uint64_t unit_bytes) const {
  if (blocks_) return std::max(unit_bytes, kMostInBlock);
  // Deflate makes no more text of its bytes.
  constexpr uint64_t kMostRatio = 1032;
  return kind_ == Compression::zstd ? shared_.most_range() : std::min(shared_.most_range(), bytes_.end * kMostRatio);
}

uint64_t CompressedText::most_memory() const {
  const uint64_t windows = kind_ == Compression::gzip && !blocks_ ? kMostInWindow : 0;
  return std::min(TextResources::kOfFile, bytes_.end / kLeastBytes * (sizeof(TextPoint) + windows));
}

uint64_t CompressedText::memory_of(const TextPoint& point) {
  return sizeof point + (point.window ? point.window->size() : 0);
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
  if (std::prev(next)->text == point.text || memory_ + bytes > TextResources::kOfFile || !shared_.take_memory(bytes))
    return;
  memory_ += bytes;
  points_.insert(next, point);
}

}  // namespace millrace
