#include "millrace/input/csv/number_parser.h"

#include <fast_float/fast_float.h>

#include <concepts>
#include <limits>
#include <type_traits>

namespace millrace {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_sign(char c) { return c == '+' || c == '-'; }

template <std::floating_point T>
NumberStatus parse(const char* first, const char* last, T& out) {
  // The library does not accept a plus sign. It accepts a payload after nan, such as nan(1), which this parser refuses.
  if (first != last && *first == '+') {
    ++first;
    if (first != last && is_sign(*first)) return NumberStatus::malformed;
  }
  const auto [stop, failure] = fast_float::from_chars(first, last, out);
  const bool parsed = failure == std::errc() || failure == std::errc::result_out_of_range;
  return parsed && stop == last && *(last - 1) != ')' ? NumberStatus::ok : NumberStatus::malformed;
}

template <std::signed_integral T>
NumberStatus parse(const char* first, const char* last, T& out) {
  using Unsigned = std::make_unsigned_t<T>;
  const bool negative = first != last && *first == '-';
  if (first != last && is_sign(*first)) ++first;
  if (first == last) return NumberStatus::malformed;
  const Unsigned most = static_cast<Unsigned>(std::numeric_limits<T>::max()) + (negative ? 1 : 0);
  Unsigned value = 0;
  bool fits = true;
  for (; first != last; ++first) {
    if (!is_digit(*first)) return NumberStatus::malformed;
    const auto digit = static_cast<Unsigned>(*first - '0');
    fits = fits && value <= (most - digit) / 10;
    value = value * 10 + digit;
  }
  if (!fits) return NumberStatus::out_of_range;
  out = static_cast<T>(negative ? Unsigned{0} - value : value);
  return NumberStatus::ok;
}

NumberStatus parse(const char* first, const char* last, uint8_t& out) {
  int32_t value = 0;
  const NumberStatus status = parse(first, last, value);
  if (status != NumberStatus::ok) return status;
  out = static_cast<uint8_t>(value);
  return out == value ? NumberStatus::ok : NumberStatus::out_of_range;
}

}  // namespace

template <class T>
NumberStatus parse_number(std::string_view text, T& out) {
  const char *first = text.data(), *last = first + text.size();
  while (first != last && is_blank(*first)) ++first;
  while (first != last && is_blank(*(last - 1))) --last;
  return parse(first, last, out);
}

template NumberStatus parse_number(std::string_view, float&);
template NumberStatus parse_number(std::string_view, double&);
template NumberStatus parse_number(std::string_view, int32_t&);
template NumberStatus parse_number(std::string_view, int64_t&);
template NumberStatus parse_number(std::string_view, uint8_t&);

}  // namespace millrace
