#include "millrace/input/compressed/text_decoder.h"

#include <algorithm>
#include <cstring>

#include "millrace/core/text.h"
#include "millrace/input/files/open_files.h"
#include "millrace/input/files/stream_file.h"

namespace millrace {

namespace {

// Read first at a new place, where it may be the end of a record that is wanted, and then twice as much each time.
constexpr size_t kLeastRead = 4096;

}  // namespace

void TextDecoder::start(const CompressedBytes& bytes, const TextPoint& from) {
  bytes_ = bytes;
  text_ = from.text;
  at_ = from.at;
  at_line_ = from.at_line;
  last_start_ = from;
  begin_ = end_ = 0;
  ahead_ = kLeastRead;
  failure_ = nullptr;
  start_at(from);
}

size_t TextDecoder::read(const File& raw, char* to, size_t bytes) {
  if (failure_) raise_copy(failure_);
  if (bytes == 0) return 0;
  try {
    const size_t got = decode(raw, to, bytes);
    text_ += got;
    if (got > 0) at_line_ = to[got - 1] == '\n';
    return got;
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

bool TextDecoder::skip(const File& raw, uint64_t offset) {
  if (text_ >= offset) return false;
  scratch_.resize(std::max(scratch_.size(), kReadBytes));
  return read(raw, scratch_.data(), static_cast<size_t>(std::min<uint64_t>(kReadBytes, offset - text_))) > 0;
}

void TextDecoder::want(const File& raw, size_t bytes) {
  const size_t left = end_ - begin_;
  if (left >= bytes) return;
  input_.resize(kReadBytes);
  std::memmove(input_.data(), input_.data() + begin_, left);
  begin_ = 0;
  end_ = left;
  ahead_ = std::min(2 * ahead_, kReadBytes);
  const size_t to = std::max(bytes, ahead_);
  while (end_ < bytes) {
    const uint64_t from = at_ + end_;
    const auto more = static_cast<size_t>(std::min<uint64_t>(to - end_, bytes_.end - std::min(bytes_.end, from)));
    const size_t got = more == 0 ? 0 : raw.read(from, input_.data() + end_, more);
    end_ += got;
    if (got < more && bytes_.end != StreamFile::kUnknownSize) {
      throw_shrunk(*bytes_.entry, std::min(from + got, raw.size()));
    }
    if (got == 0) return;
  }
}

void TextDecoder::take(size_t bytes) {
  begin_ += bytes;
  at_ += bytes;
}

void TextDecoder::pass(const File& raw, uint64_t bytes) {
  while (bytes > 0) {
    want(raw, 1);
    if (input().empty()) throw truncated();
    const auto some = static_cast<size_t>(std::min<uint64_t>(bytes, input().size()));
    take(some);
    bytes -= some;
  }
}

DataError TextDecoder::error(std::string_view what, std::string_view hint) const {
  return DataError(cat(what, " at byte ", at_, " of the file"), {bytes_.entry->path}, hint);
}

DataError TextDecoder::truncated() const {
  return error("the compressed data end too early,", "was the file copied or downloaded as a whole?");
}

std::unique_ptr<TextDecoder> make_decoder(Compression kind, const std::string& path) {
  check_is_built(kind, path);
  return kind == Compression::zstd ? make_zstd_decoder() : make_gzip_decoder(kind);
}

}  // namespace millrace
