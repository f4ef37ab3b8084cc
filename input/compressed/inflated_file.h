// Compressed data as a File of what is in them: InflatedFile, of the files of a source, and UnpackedFile, by itself; or
// as a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "millrace/core/export.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/input/compressed/compressed_text.h"

namespace millrace {

// The text of a compressed file. Reading on where the last read ended is fast; any other place is read from the last
// known point before it. size() is the size on disk.
class MILLRACE_EXPORT InflatedFile final : public File {
 public:
  // With a `range`, a read that begins where the range does, and reads all of it, may decode it as a whole. `text`
  // outlives the file.
  InflatedFile(CompressedText& text, std::shared_ptr<const File> raw, std::optional<TextRange> range = {});
  ~InflatedFile() override;

  uint64_t size() const override { return raw_->size(); }
  uint64_t size_at_open() const override { return raw_->size_at_open(); }
  // Fewer bytes also at the end of the range. Throws DataError if the compressed data are wrong, after all text before;
  // or if the range does not have the text that it should have.
  size_t read(uint64_t offset, void* to, size_t bytes) const override;

 private:
  bool read_whole(char* to) const MILLRACE_REQUIRES(mutex_);
  size_t read_in_range(uint64_t offset, char* to, size_t bytes) const MILLRACE_REQUIRES(mutex_);
  void leave_range() const MILLRACE_REQUIRES(mutex_);
  void go_to(uint64_t offset) const MILLRACE_REQUIRES(mutex_);
  void take(uint64_t offset, const TextPoint& point) const MILLRACE_REQUIRES(mutex_);
  void give() const MILLRACE_REQUIRES(mutex_);

  CompressedText& text_;
  const std::shared_ptr<const File> raw_;
  const std::optional<TextRange> range_;

  mutable Mutex mutex_;
  mutable std::unique_ptr<TextDecoder> decoder_ MILLRACE_GUARDED_BY(mutex_);
  mutable bool in_range_ MILLRACE_GUARDED_BY(mutex_) = false;  // the decoder reads no further than the range
};

// The text in a compressed file, or in a part of a file. It may be read at any place by any thread; reading in order is
// fast, and gets all places near after the first time.
class MILLRACE_EXPORT UnpackedFile final : public File {
 public:
  struct Settings {
    std::function<std::shared_ptr<const File>()> open;  // the file; asked for each read
    std::string path;                                   // for messages
    Compression kind = Compression::gzip;
    // The compressed bytes; `end` is at most the size of the file.
    uint64_t begin = 0, end = 0;
  };
  // Throws ConfigError if the build has no library for it; what `open` throws.
  explicit UnpackedFile(Settings settings);

  // How many bytes come out. They are all read for that, once.
  uint64_t size() const override;
  // Throws DataError with the path if the compressed data are wrong.
  size_t read(uint64_t offset, void* to, size_t bytes) const override;

 private:
  const Settings settings_;
  mutable TextResources shared_;
  mutable CompressedText text_;
};

// Gives the text in the file if it is compressed, else the file as it is. Throws IoError; ConfigError if the build
// has no library for it.
MILLRACE_EXPORT std::shared_ptr<const File> inflated(std::shared_ptr<const File> file, const std::string& path);

// Gives the text in the stream if it is compressed, which its first bytes tell, else its bytes. read() then also throws
// DataError if the compressed data are wrong, after all text before; ConfigError if the build has no library for it.
// `path` is for messages.
MILLRACE_EXPORT std::unique_ptr<ByteStream> inflated(std::unique_ptr<ByteStream> bytes, std::string path);

}  // namespace millrace
