// Small text helpers for messages: cat() joins values, quote() escapes control characters, nearest() finds the word
// that a typo was meant to be.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "millrace/core/export.h"

namespace millrace {

namespace text_detail {
using Value = std::variant<std::string_view, char, bool, int64_t, uint64_t, float, double>;

template <class T>
Value value_of(const T& value) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return std::string_view(value);
  } else if constexpr (std::same_as<T, char> || std::same_as<T, bool> || std::floating_point<T>) {
    return value;
  } else {
    static_assert(std::integral<T>, "cat() joins texts and numbers");
    return static_cast<std::conditional_t<std::signed_integral<T>, int64_t, uint64_t>>(value);
  }
}

MILLRACE_EXPORT std::string join_values(std::initializer_list<Value> values);
}  // namespace text_detail

// The values one after another; numbers in their shortest round-trip form, whatever the locale.
template <class... T>
std::string cat(const T&... values) {
  return text_detail::join_values({text_detail::value_of(values)...});
}

// The text, cut after at most `limit` bytes between characters; then "..." follows.
MILLRACE_EXPORT std::string shortened(std::string_view text, size_t limit = 60);
// The value rounded to `digits` significant digits.
MILLRACE_EXPORT double rounded(double value, int digits);

// The text in double quotes, control characters escaped, cut after at most `limit` bytes between characters.
MILLRACE_EXPORT std::string quote(std::string_view text, size_t limit = 60);

// "a, b and c"; `joint` is the last separator.
MILLRACE_EXPORT std::string join(const std::vector<std::string>& items, std::string_view joint = " and ");

// Whether two texts are the same except for the case of ASCII letters.
MILLRACE_EXPORT bool same_text(std::string_view a, std::string_view b);

// The candidate that `word` was meant to be, whatever the case. In this order: the same word, the shortest that begins
// with `word`, the one of the smallest edit distance, the longest with which `word` begins, the shortest that contains
// it. Empty if none is near enough, or if what was found is too long for a hint.
MILLRACE_EXPORT std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// Whether `name` matches a pattern. `*` stands for any bytes, or none, and `?` for one; every other byte stands for
// itself.
MILLRACE_EXPORT bool wildcard_matches(std::string_view pattern, std::string_view name);

// Whether configurations may use the text as a name: letters, digits, _ and -, the first one a letter or _.
MILLRACE_EXPORT bool is_name(std::string_view text);

// "1 row", "2 rows".
MILLRACE_EXPORT std::string count_of(int64_t count, std::string_view noun);

// "No such file or directory" for ENOENT, whatever the locale.
MILLRACE_EXPORT std::string errno_text(int code);

}  // namespace millrace
