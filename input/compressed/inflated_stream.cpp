#include "millrace/input/compressed/inflated_stream.h"

#include <utility>

#include "millrace/input/compressed/compressed_text.h"
#include "millrace/input/files/stream_file.h"

namespace millrace {

// The stream as a file that is read from its start on.
class InflatedStream::Raw final : public File {
 public:
  explicit Raw(InflatedStream& owner) : owner_(owner) {}
  uint64_t size() const override { return StreamFile::kUnknownSize; }
  size_t read(uint64_t, void* to, size_t bytes) const override {
    std::string& start = owner_.start_;
    if (start.empty()) return owner_.bytes_->read(to, bytes);
    const size_t count = start.copy(static_cast<char*>(to), bytes);
    start.erase(0, count);
    return count;
  }

 private:
  InflatedStream& owner_;
};

InflatedStream::InflatedStream(std::unique_ptr<ByteStream> bytes, std::string path)
    : bytes_(std::move(bytes)), path_(std::move(path)), raw_(std::make_unique<Raw>(*this)) {}

InflatedStream::~InflatedStream() = default;

size_t InflatedStream::read(void* to, size_t bytes) {
  if (!looked_) look();
  looked_ = true;
  return decoder_ ? decoder_->read(*raw_, static_cast<char*>(to), bytes) : raw_->read(0, to, bytes);
}

// Waits for no more bytes than it takes to know.
void InflatedStream::look() {
  while (may_be_compressed(start_)) {
    char more[kMagicBytes];
    const size_t got = bytes_->read(more, kMagicBytes - start_.size());
    if (got == 0) break;
    start_.append(more, got);
  }
  const Compression kind = compression_of(start_);
  if (kind == Compression::none) return;
  decoder_ = make_decoder(kind, path_);
  auto entry = std::make_shared<FileEntry>();
  entry->path = path_;
  entry->size = StreamFile::kUnknownSize;
  decoder_->start(
      {.entry = std::move(entry), .end = StreamFile::kUnknownSize, .most_window = CompressedText::kMostWindow}, {});
}

}  // namespace millrace
