#include "millrace/input/rows/frame_bytes.h"

// With this macro the whole library is in its header, and nothing is linked.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

#if XXH_VERSION_NUMBER < 800
#error "xxHash 0.8 or newer is needed: the results of XXH3 were not final before"
#endif

namespace millrace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");

void write_frame_head(const FrameKind& kind, char* frame, size_t size) {
  kind.magic.copy(frame, kFrameMagicBytes);
  frame[kFrameMagicBytes] = static_cast<char>(kind.version);
  const uint64_t sum = XXH3_64bits(frame + kFrameHeadBytes, size - kFrameHeadBytes);
  std::memcpy(frame + kFrameMagicBytes + 1, &sum, sizeof sum);
}

FrameReader::FrameReader(const FrameKind& kind, std::string_view bytes) : kind_(kind) {
  if (!bytes.starts_with(kind.magic)) refuse("they do not begin like that");
  if (bytes.size() < kFrameHeadBytes) refuse("they end too early");
  const auto version = static_cast<uint8_t>(bytes[kFrameMagicBytes]);
  if (version != kind.version) {
    throw DataError(
        cat("these bytes are ", kind.name, " of version ", version, ", this library reads version ", kind.version), {},
        "write and read them with the same version of Millrace");
  }
  uint64_t sum = 0;
  std::memcpy(&sum, bytes.data() + kFrameMagicBytes + 1, sizeof sum);
  bytes.remove_prefix(kFrameHeadBytes);
  if (sum != XXH3_64bits(bytes.data(), bytes.size())) refuse("the checksum does not match");
  at_ = bytes.data();
  end_ = at_ + bytes.size();
}

void FrameReader::refuse(std::string_view why) const {
  throw DataError(cat("these bytes are not ", kind_.name, ": ", why), {},
                  "they were cut off, changed, or written by something else");
}

uint64_t FrameReader::long_number() {
  uint64_t value = 0;
  for (unsigned shift = 0; at_ < end_; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at_++);
    if (shift == 63 && byte > 1) refuse("a number is too large");
    value |= uint64_t{byte & 127u} << shift;
    if (byte < 128) return value;
  }
  refuse("they end too early");
}

}  // namespace millrace
