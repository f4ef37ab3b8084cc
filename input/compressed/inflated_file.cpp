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

InflatedFile::InflatedFile(TextResources& shared, CompressedText& text, std::shared_ptr<const File> raw,
                           std::optional<TextRange> range)
    : shared_(shared), text_(text), raw_(std::move(raw)), range_(std::move(range)) {}

InflatedFile::~InflatedFile() { shared_.give(text_, std::move(decoder_)); }

size_t InflatedFile::read(uint64_t offset, void* to, size_t bytes) const {
  const MutexLock lock(mutex_);
  auto* const out = static_cast<char*>(to);
  size_t done = 0;
  if (range_ && range_->whole() && !tried_whole_ && offset == range_->begin.text && bytes >= range_->text_bytes()) {
    tried_whole_ = true;
    done = read_whole(out);
  }
  while (done < bytes) {
    try {
      const size_t got = read_some(offset + done, out + done, bytes - done);
      if (got == 0) break;
      done += got;
    } catch (const Error&) {
      // It comes again when the text before it is used up.
      if (done == 0) throw;
      break;
    }
  }
  return done;
}

// Returns 0 if the range must be read bit by bit, which says what is wrong with it.
size_t InflatedFile::read_whole(char* to) const {
  shared_.give(text_, std::move(decoder_));
  // The point that is asked for does not matter: nothing is read from there.
  decoder_ = shared_.take(text_, range_->begin.text, range_->begin);
  std::vector<char>& compressed = decoder_->scratch();
  const auto bytes = static_cast<size_t>(range_->compressed_bytes()), text = static_cast<size_t>(range_->text_bytes());
  if (compressed.size() < bytes) compressed.resize(bytes);
  const size_t got = raw_->read(range_->begin.at, compressed.data(), bytes);
  const bool whole = got == bytes && decoder_->decode_whole({compressed.data(), bytes}, {to, text});
  decoder_->start(text_.compressed(), whole ? range_->end : range_->begin);
  in_range_ = !whole;
  if (whole && text > 0) shared_.learn_end(to[text - 1] == '\n');
  return whole ? text : 0;
}

size_t InflatedFile::read_some(uint64_t offset, char* to, size_t bytes) const {
  if (offset >= text_.size()) return 0;
  go_to(offset);
  if (in_range_) bytes = static_cast<size_t>(std::min<uint64_t>(bytes, range_->end.text - offset));
  const size_t got = decoder_->read(*raw_, to, bytes);
  text_.learn(*decoder_);
  if (in_range_) {
    check_range(got == 0);
  } else if (got == 0) {
    text_.set_size(decoder_->text());
  }
  return got;
}

void InflatedFile::go_to(uint64_t offset) const {
  // No point between the decoder and the offset spares enough to look for it.
  constexpr uint64_t kNear = 65536;
  if (!decoder_ || decoder_->failed() || decoder_->text() > offset || offset - decoder_->text() > kNear) {
    TextPoint point = text_.before(offset);
    in_range_ = false;
    if (range_ && range_->begin.text <= offset && offset < range_->end.text) {
      point = range_->begin;
      in_range_ = true;
    } else if (range_ && range_->end.text <= offset && range_->end.text > point.text) {
      point = range_->end;
    }
    const bool is_better =
        !decoder_ || decoder_->failed() || decoder_->text() > offset || decoder_->text() < point.text;
    if (is_better) {
      shared_.give(text_, std::move(decoder_));
      decoder_ = shared_.take(text_, offset, point);
    }
  }
  while (decoder_->skip(*raw_, offset)) text_.learn(*decoder_);
}

// At the end of the range, which must be as it was said to be. `ended`: the text ends here.
void InflatedFile::check_range(bool ended) const {
  const TextPoint& end = range_->end;
  if (decoder_->text() < end.text && !ended) return;
  in_range_ = false;
  bool same = false;
  if (decoder_->text() < end.text) {
    // It has less text.
  } else if (end.window) {
    same = decoder_->agrees_with(end);
  } else {
    decoder_->settle(*raw_, end.at);
    same = decoder_->at_start() && decoder_->at() == end.at;
  }
  if (same) return;
  throw DataError(cat("the compressed data before byte ", end.at, " of the file are not what they should be"),
                  {text_.entry().path}, "is the file damaged, or was it changed meanwhile?");
}

UnpackedFile::UnpackedFile(Settings settings)
    : settings_(std::move(settings)), text_(bytes_of(settings_), settings_.kind, shared_, *settings_.open()) {
  check_is_built(settings_.kind, settings_.path);
  if (settings_.size) text_.set_size(*settings_.size);
}

uint64_t UnpackedFile::size() const {
  if (text_.size() == StreamFile::kUnknownSize) {
    const InflatedFile file(shared_, text_, settings_.open());
    std::vector<char> passed(TextDecoder::kReadBytes);
    uint64_t at = 0;
    while (const size_t got = file.read(at, passed.data(), passed.size())) at += got;
  }
  return text_.size();
}

size_t UnpackedFile::read(uint64_t offset, void* to, size_t bytes) const {
  if (settings_.size) {
    bytes = static_cast<size_t>(std::min<uint64_t>(bytes, *settings_.size - std::min(*settings_.size, offset)));
  }
  const InflatedFile file(shared_, text_, settings_.open());
  size_t done = 0;
  while (done < bytes) {
    const size_t got = file.read(offset + done, static_cast<char*>(to) + done, bytes - done);
    if (got == 0) break;
    done += got;
  }
  if (done < bytes && settings_.size) {
    throw DataError(cat("expected ", *settings_.size, " bytes in the compressed data, got ", offset + done),
                    {settings_.path});
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
