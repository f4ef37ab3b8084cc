#include "millrace/trainer/files/checksum.h"

// With this macro the whole library is in its header, and nothing is linked.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "millrace/core/utf8.h"

#if XXH_VERSION_NUMBER < 800
#error "xxHash 0.8 or newer is needed: the results of XXH3 were not final before"
#endif

namespace millrace {

struct Checksum::State {
  XXH3_state_t value;
};

Checksum::Checksum() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->value); }
Checksum::~Checksum() = default;
Checksum::Checksum(Checksum&&) noexcept = default;
Checksum& Checksum::operator=(Checksum&&) noexcept = default;

void Checksum::update(std::span<const std::byte> bytes) {
  if (!bytes.empty()) XXH3_64bits_update(&state_->value, bytes.data(), bytes.size());
}

std::string Checksum::hex() const {
  const uint64_t sum = XXH3_64bits_digest(&state_->value);
  std::string out;
  for (int shift = 56; shift >= 0; shift -= 8) append_hex(out, "", static_cast<unsigned>(sum >> shift & 0xff));
  return out;
}

}  // namespace millrace
