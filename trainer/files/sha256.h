// SHA-256 (FIPS 180-4).
//
//   Sha256 hash;
//   hash.update(bytes);
//   std::string hex = hash.hex();
//
// A value, used by one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace millrace {

class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);
  // The digest of everything given so far, in lower-case hexadecimal. More may follow.
  std::string hex() const;

 private:
  void block(const std::byte* bytes);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> pending_{};
  uint64_t size_ = 0;  // bytes given so far
};

}  // namespace millrace
