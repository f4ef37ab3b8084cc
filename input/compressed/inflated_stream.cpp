#include <utility>

#include "millrace/input/compressed/inflated_file.h"
#include "millrace/input/files/stream_file.h"

namespace millrace {

namespace {

// The stream as a file that is read from its start on.
class StreamBytes final : public File {
 public:
  explicit StreamBytes(std::unique_ptr<ByteStream> bytes) : bytes_(std::move(bytes)) {}

  // Waits for no more bytes than it takes to know.
  Compression look() {
    while (may_be_compressed(start_)) {
      char more[kMagicBytes];
      const size_t got = bytes_->read(more, kMagicBytes - start_.size());
      if (got == 0) break;
      start_.append(more, got);
    }
    return compression_of(start_);
  }
  uint64_t size() const override { return StreamFile::kUnknownSize; }
  size_t read(uint64_t, void* to, size_t bytes) const override {
    if (start_.empty()) return bytes_->read(to, bytes);
    const size_t count = start_.copy(static_cast<char*>(to), bytes);
    start_.erase(0, count);
    return count;
  }
  void interrupt() noexcept { bytes_->interrupt(); }

 private:
  const std::unique_ptr<ByteStream> bytes_;
  mutable std::string start_;  // what was looked at and not handed on yet
};

class InflatedStream final : public ByteStream {
 public:
  InflatedStream(std::unique_ptr<ByteStream> bytes, std::string path)
      : raw_(std::move(bytes)), path_(std::move(path)) {}

  size_t read(void* to, size_t bytes) override {
    if (!looked_) look();
    looked_ = true;
    return decoder_ ? decoder_->read(raw_, static_cast<char*>(to), bytes) : raw_.read(0, to, bytes);
  }
  void interrupt() noexcept override { raw_.interrupt(); }

 private:
  void look() {
    const Compression kind = raw_.look();
    if (kind == Compression::none) return;
    decoder_ = make_decoder(kind, path_);
    auto entry = std::make_shared<FileEntry>();
    entry->path = path_;
    entry->size = StreamFile::kUnknownSize;
    decoder_->start(
        {.entry = std::move(entry), .end = StreamFile::kUnknownSize, .most_window = CompressedText::kMostWindow}, {});
  }

  StreamBytes raw_;
  const std::string path_;
  bool looked_ = false;
  std::unique_ptr<TextDecoder> decoder_;  // null: the bytes are handed on as they are
};

}  // namespace

std::unique_ptr<ByteStream> inflated(std::unique_ptr<ByteStream> bytes, std::string path) {
  return std::make_unique<InflatedStream>(std::move(bytes), std::move(path));
}

}  // namespace millrace
