// NumberFormat: how the numbers of a binary file lie there, and which field holds them exactly. Pure functions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "millrace/core/options.h"
#include "millrace/core/tensor.h"

namespace millrace {

// uint64 is absent: no field holds all its numbers.
enum class NumberType : uint8_t {
  boolean,
  uint8,
  int8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  float16,
  float32,
  float64
};
template <>
struct EnumNames<NumberType> {
  static constexpr std::pair<std::string_view, NumberType> kNames[] = {
      {"bool", NumberType::boolean},    {"uint8", NumberType::uint8},    {"int8", NumberType::int8},
      {"int16", NumberType::int16},     {"uint16", NumberType::uint16},  {"int32", NumberType::int32},
      {"uint32", NumberType::uint32},   {"int64", NumberType::int64},    {"float16", NumberType::float16},
      {"float32", NumberType::float32}, {"float64", NumberType::float64}};
};

enum class ByteOrder { little, big };
template <>
struct EnumNames<ByteOrder> {
  static constexpr std::pair<std::string_view, ByteOrder> kNames[] = {{"little", ByteOrder::little},
                                                                      {"big", ByteOrder::big}};
};

struct NumberFormat {
  NumberType type = NumberType::float32;
  bool big_endian = false;

  size_t bytes() const;  // of a number
  // The smallest type of a field that holds every such number: uint8 for bool (0 and 1), float32 for float16, int32 or
  // int64 for other integers.
  DType dtype() const;
  // Whether the field has the bytes of the file.
  bool is_plain() const {
    return type != NumberType::boolean && bytes() == size_of(dtype()) && (bytes() == 1 || !is_swapped());
  }
  // Reads `count` numbers at `from` into `to`, as dtype() has them. Neither need be aligned.
  void read(const std::byte* from, size_t count, std::byte* to) const;
  bool operator==(const NumberFormat&) const = default;

 private:
  bool is_swapped() const { return big_endian == (std::endian::native == std::endian::little); }
};

}  // namespace millrace
