// Checksum: XXH3-64. It detects bytes that have changed by accident. It does not protect against someone who changes
// them on purpose.
//
//   Checksum sum;
//   sum.update(bytes);
//   std::string hex = sum.hex();
//
// Move-only, used by one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace millrace {

class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(Checksum&&) noexcept;
  Checksum& operator=(Checksum&&) noexcept;

  void update(std::span<const std::byte> bytes);
  // The checksum of all bytes given so far, as 16 lower-case hexadecimal digits. More bytes may follow.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace millrace
