#include "millrace/cli/text/text_layout.h"

#include <algorithm>

#include "millrace/core/utf8.h"

namespace millrace::cli {

namespace {

size_t columns(std::string_view text) {
  size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(std::max<size_t>(utf8_length(text), 1));
  return count;
}

}  // namespace

std::string wrapped(std::string_view text, size_t indent, size_t used) {
  std::string out;
  size_t column = used;
  bool line_begins = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (!line_begins && column + 1 + columns(word) > kPageWidth) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!line_begins) {
      out += ' ';
      ++column;
    }
    out += word;
    column += columns(word);
    line_begins = false;
  }
  return out;
}

std::string replaced(std::string_view text, char byte, std::string_view replacement) {
  std::string out;
  for (const char& c : text) out += c == byte ? replacement : std::string_view(&c, 1);
  return out;
}

}  // namespace millrace::cli
