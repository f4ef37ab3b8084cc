// Numbers from text: correctly rounded, whatever the locale.
//
// Surrounding blanks (space, tab) and a sign are allowed. float32/float64: decimal and exponent forms, and inf,
// infinity and nan in upper or lower case; overflow gives infinity, underflow gives denormals and zero, as with strtof
// and strtod. int32/int64: decimal digits. Stateless: any thread may call at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "millrace/core/tensor.h"

namespace millrace {

enum class NumberStatus : uint8_t { ok, malformed, out_of_range };

// Only integers can be out_of_range. `out` is unspecified if the status is not ok.
// T: float, double, int32_t, int64_t.
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
    case DType::f32:
    case DType::u8: break;
  }
  return body(float{});
}

// Neighbouring fields of one record: field 0 is [begin, ends[0]) of `text`, field k is [ends[k - 1] + 1, ends[k]). All
// of `text` up to the last end can be read, including the bytes before `begin`.
struct NumberRun {
  const char* text = nullptr;
  size_t begin = 0;
  const uint32_t* ends = nullptr;
  size_t count = 0;
};

// Parses the run's fields into `out` until one is not a number; returns how many are done. Gives the same values as
// parse_number() for each field.
[[nodiscard]] size_t parse_run(const NumberRun& run, float* out);
[[nodiscard]] size_t parse_run(const NumberRun& run, double* out);
[[nodiscard]] size_t parse_run(const NumberRun& run, int32_t* out);
[[nodiscard]] size_t parse_run(const NumberRun& run, int64_t* out);

}  // namespace millrace
