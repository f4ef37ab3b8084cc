// Checksum: XXH3-64, which tells at the speed of memory whether bytes are still what they were. It is no proof against
// people.
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
  // Of everything given so far, 16 digits in lower-case hexadecimal. More may follow.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace millrace
