// Text that fits a terminal. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::cli {

// The width of help and reference pages.
inline constexpr size_t kPageWidth = 100;

// The words of `text` in lines of at most kPageWidth columns; every line but the first begins with `indent` blanks, and
// `used` columns stand before the first. A word that is longer than a line has a line of its own. There is no newline
// at the end.
std::string wrapped(std::string_view text, size_t indent, size_t used);

// `text` with `replacement` in place of each `byte`.
std::string replaced(std::string_view text, char byte, std::string_view replacement);

}  // namespace millrace::cli
