#include "millrace/input/arrays/number_format.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace millrace {

namespace {

// The bits of an IEEE half, a type that C++20 lacks.
enum class Half : uint16_t {};

float wider(Half half) {
  const auto bits = static_cast<uint32_t>(half);
  const uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 0) {
    const float least = static_cast<float>(fraction) * 0x1p-24F;
    return sign == 0 ? least : -least;
  }
  return std::bit_cast<float>(sign | (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13);
}

template <class Field, class Stored>
Field as_field(Stored value) {
  if constexpr (std::is_same_v<Stored, Half>) {
    return wider(value);
  } else {
    return static_cast<Field>(value);
  }
}

// Calls body<Stored, Field>().
template <class Body>
auto with_number_types(NumberType type, const Body& body) {
  switch (type) {
    case NumberType::boolean: return body.template operator()<bool, uint8_t>();
    case NumberType::uint8: return body.template operator()<uint8_t, uint8_t>();
    case NumberType::int8: return body.template operator()<int8_t, int32_t>();
    case NumberType::int16: return body.template operator()<int16_t, int32_t>();
    case NumberType::uint16: return body.template operator()<uint16_t, int32_t>();
    case NumberType::int32: return body.template operator()<int32_t, int32_t>();
    case NumberType::uint32: return body.template operator()<uint32_t, int64_t>();
    case NumberType::int64: return body.template operator()<int64_t, int64_t>();
    case NumberType::float16: return body.template operator()<Half, float>();
    case NumberType::float64: return body.template operator()<double, double>();
    case NumberType::float32: break;
  }
  return body.template operator()<float, float>();
}

template <class Stored>
Stored stored_at(const std::byte* from, bool swaps) {
  std::array<std::byte, sizeof(Stored)> bytes;
  std::memcpy(bytes.data(), from, bytes.size());
  if (swaps) std::reverse(bytes.begin(), bytes.end());
  if constexpr (std::is_same_v<Stored, bool>) {
    return bytes[0] != std::byte{0};
  } else {
    return std::bit_cast<Stored>(bytes);
  }
}

}  // namespace

size_t NumberFormat::bytes() const {
  return with_number_types(type, []<class Stored, class>() { return sizeof(Stored); });
}

DType NumberFormat::dtype() const {
  return with_number_types(type, []<class, class Field>() { return DTypeOf<Field>::value; });
}

void NumberFormat::read(const std::byte* from, size_t count, std::byte* to) const {
  if (is_plain()) {
    std::memcpy(to, from, count * bytes());
    return;
  }
  with_number_types(type, [&]<class Stored, class Field>() {
    const bool swaps = is_swapped();
    for (size_t i = 0; i < count; ++i) {
      const auto value = as_field<Field>(stored_at<Stored>(from + i * sizeof(Stored), swaps));
      std::memcpy(to + i * sizeof(Field), &value, sizeof(Field));
    }
  });
}

}  // namespace millrace
