// Small text helpers for messages: cat() joins values, quote() escapes control characters, nearest() finds a typo's
// target.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

namespace text_detail {
inline void append(std::string& out, std::string_view value) { out += value; }
inline void append(std::string& out, char value) { out += value; }
template <class T>
requires std::same_as<T, bool>
void append(std::string& out, T value) { out += value ? "true" : "false"; }
template <class T>
requires((std::integral<T> && !std::same_as<T, bool>) || std::floating_point<T>) void append(std::string& out,
                                                                                             T value) {
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  out.append(buffer, end);
}
}  // namespace text_detail

// The values one after another; numbers in their shortest round-trip form, whatever the locale.
template <class... T>
std::string cat(const T&... values) {
  std::string out;
  (text_detail::append(out, values), ...);
  return out;
}

// The text in double quotes, control characters escaped, cut after at most `limit` bytes between characters.
std::string quote(std::string_view text, size_t limit = 60);

// "a, b and c"; `joint` is the last separator.
std::string join(const std::vector<std::string>& items, std::string_view joint = " and ");

// The candidate that `word` was meant to be, whatever the case: the same, the shortest that it begins, that of the
// smallest edit distance, the longest that begins it, the shortest that holds it; empty when none is near enough.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// "1 row", "2 rows".
std::string count_of(int64_t count, std::string_view noun);

// "No such file or directory" for ENOENT, whatever the locale.
std::string errno_text(int code);

}  // namespace millrace
