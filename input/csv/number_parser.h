// Numbers from text: correctly rounded, whatever the locale.
//
// Surrounding blanks (space, tab) and a sign are allowed. float32/float64: decimal and exponent forms, and inf,
// infinity and nan in upper or lower case; overflow gives infinity, underflow gives denormals and zero, as with strtof
// and strtod. int32/int64/uint8: decimal digits. Stateless: any thread may call at any time.
#pragma once

#include <cstdint>
#include <string_view>

#include "millrace/core/tensor.h"

namespace millrace {

enum class NumberStatus : uint8_t { ok, malformed, out_of_range };

// Only integers can be out_of_range. `out` is unspecified if the status is not ok.
// T: float, double, int32_t, int64_t, uint8_t.
template <class T>
[[nodiscard]] NumberStatus parse_number(std::string_view text, T& out);

inline bool is_number(std::string_view text) {
  double value = 0;
  return parse_number(text, value) == NumberStatus::ok;
}

// Calls body(T{}) for the C++ type of a column of numbers.
template <class Body>
auto with_parsed_type(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::f64: return body(double{});
    case DType::i32: return body(int32_t{});
    case DType::i64: return body(int64_t{});
    case DType::u8: return body(uint8_t{});
    case DType::f32: break;
  }
  return body(float{});
}

}  // namespace millrace
