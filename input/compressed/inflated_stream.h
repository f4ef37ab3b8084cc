// InflatedStream: the bytes of a stream, or the text in them if they are compressed, which its first bytes tell.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "millrace/core/export.h"
#include "millrace/input/compressed/text_decoder.h"

namespace millrace {

class MILLRACE_EXPORT InflatedStream final : public ByteStream {
 public:
  // `path` is for messages.
  InflatedStream(std::unique_ptr<ByteStream> bytes, std::string path);
  ~InflatedStream() override;

  // Also throws DataError if the compressed data are wrong, after all text before; ConfigError if the build has no
  // library for it.
  size_t read(void* to, size_t bytes) override;
  void interrupt() noexcept override { bytes_->interrupt(); }

 private:
  class Raw;

  void look();

  const std::unique_ptr<ByteStream> bytes_;
  const std::string path_;
  bool looked_ = false;
  std::string start_;  // what was looked at and not handed on yet
  const std::unique_ptr<Raw> raw_;
  std::unique_ptr<TextDecoder> decoder_;  // null: the bytes are handed on as they are
};

}  // namespace millrace
