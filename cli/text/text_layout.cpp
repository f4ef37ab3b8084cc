#include "millrace/cli/text/text_layout.h"

#include <algorithm>
#include <utility>

#include "millrace/core/text.h"
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

namespace {

// The end of a line of at most `width` columns, which is before a blank, but not before the blanks at its start. If the
// first word is wider than that, the line ends after this word.
size_t end_of_line(std::string_view line, size_t width) {
  size_t end = line.npos;
  const size_t first = std::min(line.find_first_not_of(' '), line.size());
  for (size_t blank = line.find(' ', first); blank != line.npos; blank = line.find(' ', blank + 1)) {
    if (end != line.npos && columns(line.substr(0, blank)) > width) break;
    if (line[blank - 1] != ' ') end = blank;
  }
  return std::min(end, line.size());
}

}  // namespace

std::string folded(std::string_view text, size_t width) {
  constexpr std::string_view kIndent = "  ";
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    while (columns(line) > width) {
      const size_t cut = end_of_line(line, width);
      const size_t next = line.find_first_not_of(' ', cut);
      if (next == line.npos) break;
      out += cat(std::string_view(line).substr(0, cut), '\n');
      const std::string rest = line.substr(next);
      // A terminal breaks a word that is too wide, and goes on without an indent.
      const bool fits = kIndent.size() + columns(std::string_view(rest).substr(0, rest.find(' '))) <= width;
      line = cat(fits ? kIndent : "", rest);
    }
    out += line;
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string fitting_parts(std::span<const std::string> parts, size_t width) {
  std::string out;
  for (const std::string& part : parts) {
    std::string longer = cat(out, out.empty() ? "" : "  ", part);
    if (columns(longer) > width) break;
    out = std::move(longer);
  }
  return out;
}

std::string fitting_words(std::string_view text, size_t width) {
  if (columns(text) <= width) return std::string(text);
  const size_t end = end_of_line(text, width);
  return columns(text.substr(0, end)) <= width ? std::string(text.substr(0, end)) : std::string();
}

std::string join_first(std::vector<std::string> names, size_t most) {
  if (names.size() > most) {
    const size_t more = names.size() - most;
    names.resize(most);
    names.push_back(cat(more, " more"));
  }
  return join(names);
}

std::string replaced(std::string_view text, char byte, std::string_view replacement) {
  std::string out;
  for (const char& c : text) out += c == byte ? replacement : std::string_view(&c, 1);
  return out;
}

}  // namespace millrace::cli
