// TFRecord files and the tf.Examples in them, made by plain rules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/crc32.h"
#include "tests/input/arrays/array_bytes.h"

namespace millrace::testing_support {

inline std::string tag(uint32_t number, uint32_t type) { return varint(number * 8 + type); }
// A field of a message that has a length: a text, a message, a packed list.
inline std::string wire_field(uint32_t number, std::string_view bytes) {
  return tag(number, 2) + varint(bytes.size()) + std::string(bytes);
}

inline std::string floats_feature(const std::vector<float>& values, bool packed = true) {
  std::string list;
  if (packed) list = wire_field(1, bytes_of_numbers(values));
  for (const float value : packed ? std::vector<float>() : values) list += tag(1, 5) + bytes_of_numbers<float>({value});
  return wire_field(2, list);
}
inline std::string integers_feature(const std::vector<int64_t>& values, bool packed = true) {
  std::string all, list;
  for (const int64_t value : values) {
    all += varint(static_cast<uint64_t>(value));
    list += tag(1, 0) + varint(static_cast<uint64_t>(value));
  }
  return wire_field(3, packed ? wire_field(1, all) : list);
}
inline std::string bytes_feature(const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += wire_field(1, value);
  return wire_field(1, list);
}
inline std::string example_of(const std::vector<std::pair<std::string, std::string>>& features) {
  std::string all;
  for (const auto& [key, feature] : features) all += wire_field(1, wire_field(1, key) + wire_field(2, feature));
  return wire_field(1, all);
}

// A record as it lies in a file.
inline std::string record_of(std::string_view bytes) {
  const std::string length = number_bytes(bytes.size(), 8);
  return length + number_bytes(masked_crc32c(length), 4) + std::string(bytes) + number_bytes(masked_crc32c(bytes), 4);
}

}  // namespace millrace::testing_support
