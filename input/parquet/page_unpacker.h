// PageUnpacker: decompresses the pages of Parquet files. A task has one, which keeps its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "millrace/input/compressed/text_decoder.h"
#include "millrace/input/parquet/footer.h"

namespace millrace {

// Memory for a page, and kPageSlack bytes after it. It is not cleared, so that a page takes only what was written.
class PageBytes {
 public:
  std::byte* data() { return bytes_.get(); }
  const std::byte* data() const { return bytes_.get(); }
  size_t capacity() const { return capacity_; }
  // Makes room for `bytes`. Keeps the first `kept` bytes.
  void reserve(size_t bytes, size_t kept = 0);

 private:
  std::unique_ptr<std::byte[]> bytes_;
  size_t capacity_ = 0;
};

// Throws ConfigError, which names the Debian package, if the build has no library for pages like these. `column` is for
// the message.
void check_is_built(PageCodec codec, const std::string& column);

// Bytes of a file, as they lie there.
struct PackedBytes {
  const File& file;
  std::shared_ptr<const FileEntry> entry;
  uint64_t begin = 0;
  std::span<const char> bytes;  // the same, read
};

class PageUnpacker {
 public:
  // Puts what was packed, `size` bytes, into `to` from byte `at` on; the bytes before stay. Memory is taken as bytes
  // come, if it is much more than was packed. Throws DataError if it is damaged, or if it has another size.
  void unpack(PageCodec codec, const PackedBytes& packed, size_t size, PageBytes& to, size_t at);

 private:
  void decode(PageCodec codec, const PackedBytes& packed, size_t size, PageBytes& to, size_t at);

  std::unique_ptr<TextDecoder> gzip_, zstd_;
};

}  // namespace millrace
