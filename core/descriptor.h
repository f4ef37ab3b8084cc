// Descriptor: owns a file descriptor. Move-only; closed by the destructor.
#pragma once

#include <unistd.h>

#include <utility>

namespace millrace {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }

  explicit operator bool() const { return value_ >= 0; }
  int get() const { return value_; }
  // Gives up ownership; the caller closes.
  int release() { return std::exchange(value_, -1); }

 private:
  int value_ = -1;
};

}  // namespace millrace
