// The bytes of a saved state: where its numbers lie, and how it gets a checksum that holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/random.h"

namespace millrace::testing_support {

inline uint64_t number_at(std::string_view bytes, size_t at) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i) value |= uint64_t{static_cast<unsigned char>(bytes.at(at + i))} << (8 * i);
  return value;
}

inline std::string number_bytes(uint64_t value) {
  std::string out;
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(value >> shift & 0xff);
  return out;
}

// The state with a checksum that holds, whatever it says.
inline std::string with_checksum(std::string body) { return body + number_bytes(fnv1a64(body)); }
inline std::string without_checksum(std::string_view bytes) { return std::string(bytes.substr(0, bytes.size() - 8)); }

// The numbers of one key.
struct SavedNumbers {
  std::string key;
  size_t count_at = 0, count = 0;  // the numbers follow their count
  size_t at(size_t index) const { return count_at + 8 * (index + 1); }
};

// All numbers of a state without its checksum. REQUIRES: State::encode() wrote it.
inline std::vector<SavedNumbers> numbers_in(std::string_view body) {
  std::vector<SavedNumbers> out;
  size_t at = std::string_view("millrace state\n").size() + 8;
  const auto take = [&] { return static_cast<size_t>(number_at(body, (at += 8) - 8)); };
  const auto take_text = [&] {
    const size_t size = take();
    return std::string(body.substr((at += size) - size, size));
  };
  const auto read_scope = [&](const auto& again) -> void {
    for (size_t left = take(); left > 0; --left) {
      SavedNumbers numbers;
      numbers.key = take_text();
      numbers.count_at = at;
      numbers.count = take();
      at += 8 * numbers.count;
      out.push_back(std::move(numbers));
    }
    for (size_t left = take(); left > 0; --left) {
      take_text();
      take_text();
    }
    for (size_t left = take(); left > 0; --left) {
      take_text();
      again(again);
    }
  };
  read_scope(read_scope);
  return out;
}

}  // namespace millrace::testing_support
