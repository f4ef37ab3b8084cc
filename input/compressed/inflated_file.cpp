#include "millrace/input/compressed/inflated_file.h"

#include <algorithm>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/input/files/stream_file.h"

namespace millrace {

namespace {

CompressedBytes bytes_of(const UnpackedFile::Settings& settings) {
  auto entry = std::make_shared<FileEntry>();
  entry->path = settings.path;
  entry->size = settings.end;
  return {.entry = std::move(entry), .begin = settings.begin, .end = settings.end};
}

}  // namespace

InflatedFile::InflatedFile(CompressedText& text, std::shared_ptr<const File> raw, std::optional<TextRange> range)
    : text_(text), raw_(std::move(raw)), range_(std::move(range)) {}

InflatedFile::~InflatedFile() { give(); }

size_t InflatedFile::read(uint64_t offset, void* to, size_t bytes) const {
  if (bytes == 0) return 0;
  const MutexLock lock(mutex_);
  auto* const out = static_cast<char*>(to);
  if (range_ && range_->begin.text <= offset && offset < range_->end.text) {
    return read_in_range(offset, out, static_cast<size_t>(std::min<uint64_t>(bytes, range_->end.text - offset)));
  }
  if (offset >= text_.size()) return 0;
  go_to(offset);
  const size_t got = text_.read(*decoder_, *raw_, out, bytes);
  if (got < bytes && !decoder_->failed()) text_.set_size(decoder_->text());
  return got;
}

size_t InflatedFile::read_in_range(uint64_t offset, char* to, size_t bytes) const {
  const bool all = range_->whole() && bytes == range_->text_bytes();
  if (all && read_whole(to)) return bytes;
  if (!in_range_ || decoder_->text() > offset) {
    take(range_->begin.text, range_->begin);
    CompressedBytes compressed = text_.compressed();
    if (!range_->end.window) compressed.end = range_->end.at;
    decoder_->start(compressed, range_->begin);
    in_range_ = true;
  }
  while (text_.skip(*decoder_, *raw_, offset)) {
  }
  const size_t got = text_.read(*decoder_, *raw_, to, bytes);
  if (got > 0 && decoder_->text() < range_->end.text) return got;
  try {
    leave_range();
    return got;
  } catch (const Error&) {
    // It comes with the last byte, after the text before.
    if (got <= 1) throw;
    return got - 1;
  }
}

// False if the range must be read bit by bit, which says what is wrong with it.
bool InflatedFile::read_whole(char* to) const {
  take(range_->begin.text, range_->begin);
  std::vector<char>& compressed = decoder_->scratch();
  const auto bytes = static_cast<size_t>(range_->compressed_bytes()), text = static_cast<size_t>(range_->text_bytes());
  if (compressed.size() < bytes) compressed.resize(bytes);
  const size_t got = raw_->read(range_->begin.at, compressed.data(), bytes);
  if (got < bytes || !decoder_->decode_whole({compressed.data(), bytes}, {to, text})) {
    decoder_->start(text_.compressed(), range_->begin);
    return false;
  }
  decoder_->start(text_.compressed(), range_->end);
  text_.shared().learn_end(to[text - 1] == '\n');
  return true;
}

// At the end of the range, which must be as it was said to be.
void InflatedFile::leave_range() const {
  const TextPoint& end = range_->end;
  char more = 0;
  const bool same =
      decoder_->text() == end.text && (end.window ? decoder_->agrees_with(end) : decoder_->read(*raw_, &more, 1) == 0);
  if (!same) {
    throw DataError(cat("the compressed data before byte ", end.at, " of the file are not what they should be"),
                    {text_.entry().path}, "is the file damaged, or was it changed meanwhile?");
  }
  decoder_->start(text_.compressed(), end);
  in_range_ = false;
}

void InflatedFile::go_to(uint64_t offset) const {
  TextPoint point = text_.before(offset);
  if (range_ && range_->end.text <= offset && range_->end.text > point.text) point = range_->end;
  if (!decoder_ || in_range_ || decoder_->text() > offset || decoder_->text() < point.text) take(offset, point);
  while (text_.skip(*decoder_, *raw_, offset)) {
  }
}

void InflatedFile::take(uint64_t offset, const TextPoint& point) const {
  give();
  decoder_ = text_.shared().take(text_, offset, point);
}

void InflatedFile::give() const {
  text_.shared().give(in_range_ ? nullptr : &text_, std::move(decoder_));
  in_range_ = false;
}

UnpackedFile::UnpackedFile(Settings settings)
    : settings_(std::move(settings)), text_(bytes_of(settings_), settings_.kind, shared_, *settings_.open()) {
  check_is_built(settings_.kind, settings_.path);
}

uint64_t UnpackedFile::size() const {
  if (text_.size() == StreamFile::kUnknownSize) {
    const InflatedFile file(text_, settings_.open());
    std::vector<char> passed(TextDecoder::kReadBytes);
    uint64_t at = 0;
    while (const size_t got = file.read(at, passed.data(), passed.size())) at += got;
  }
  return text_.size();
}

size_t UnpackedFile::read(uint64_t offset, void* to, size_t bytes) const {
  const InflatedFile file(text_, settings_.open());
  size_t done = 0;
  while (done < bytes) {
    const size_t got = file.read(offset + done, static_cast<char*>(to) + done, bytes - done);
    if (got == 0) break;
    done += got;
  }
  return done;
}

std::shared_ptr<const File> inflated(std::shared_ptr<const File> file, const std::string& path) {
  char start[kMagicBytes];
  const Compression kind = compression_of({start, file->read(0, start, sizeof start)});
  if (kind == Compression::none) return file;
  const uint64_t end = file->size_at_open();
  return std::make_shared<UnpackedFile>(
      UnpackedFile::Settings{.open = [file] { return file; }, .path = path, .kind = kind, .end = end});
}

}  // namespace millrace
