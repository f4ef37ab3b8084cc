// Text that fits a terminal. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::cli {

// The width of help and reference pages.
inline constexpr size_t kPageWidth = 100;

// The words of `text` in lines of at most kPageWidth columns; every line but the first begins with `indent` blanks, and
// `used` columns stand before the first. A word that is longer than a line has a line of its own. There is no newline
// at the end.
std::string wrapped(std::string_view text, size_t indent, size_t used);

// The lines of `text`. Lines that are wider than `width` columns are divided between words, and each further line
// begins with two blanks. A word that is wider than a line stays whole, without blanks before it.
std::string folded(std::string_view text, size_t width);

// As many of `parts`, from the first on, as fit into `width` columns, with two blanks between them.
std::string fitting_parts(std::span<const std::string> parts, size_t width);

// As many words of `text`, from the first on, as fit into `width` columns.
std::string fitting_words(std::string_view text, size_t width);

// "a, b and 3 more": the first `most` of the names, and how many more there are.
std::string join_first(std::vector<std::string> names, size_t most);

// `text` with `replacement` in place of each `byte`.
std::string replaced(std::string_view text, char byte, std::string_view replacement);

}  // namespace millrace::cli
