// A Markdown page as its tests need it: headings with their anchors, and the fenced blocks below them.
//
// A block belongs to a file where the paragraph before it is the file's name and a colon:
//
//   `rows.csv`:
//
//   ```csv
//   1,2
//   ```
#pragma once

#include <cctype>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/temp_folder.h"

namespace millrace::testing {

struct Block {
  std::string kind;  // what stands behind the fence: csv, yaml, console
  std::string file;  // or empty
  std::vector<std::string> lines;

  std::string text() const {
    std::string out;
    for (const std::string& line : lines) out += line + '\n';
    return out;
  }
};

struct Section {
  std::string anchor;  // of the heading, as GitHub makes it
  std::vector<Block> blocks;
};

struct Page {
  std::string text;
  std::string prose;              // the text outside of blocks
  std::vector<Section> sections;  // in order; the text above the first heading has none
};

inline void PrintTo(const Section& section, std::ostream* out) { *out << section.anchor; }

inline std::string anchor_of(const std::string& heading) {
  std::string out;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '_' || c == '-') out += static_cast<char>(std::tolower(byte));
    if (c == ' ') out += '-';
  }
  return out;
}

// The name in a line like `rows.csv`: and nothing else, or "".
inline std::string named_file(const std::string& line) {
  if (line.size() < 4 || !line.starts_with('`') || !line.ends_with("`:")) return {};
  const std::string name = line.substr(1, line.size() - 3);
  return name.find('`') == name.npos ? name : std::string();
}

inline Page read_page(const std::string& path) {
  static const std::string kFence = "```";
  Page out;
  out.text = TempFolder::read(path);
  std::istringstream lines(out.text);
  std::string file;  // that the last paragraph names
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kFence)) {
      inside = !inside;
      if (inside && out.sections.empty()) out.sections.emplace_back();
      if (inside) out.sections.back().blocks.push_back({line.substr(kFence.size()), file, {}});
      file.clear();
      continue;
    }
    if (inside) {
      out.sections.back().blocks.back().lines.push_back(line);
      continue;
    }
    out.prose += line + '\n';
    if (const size_t level = line.find_first_not_of('#'); level > 0 && level != line.npos && line[level] == ' ') {
      out.sections.push_back({anchor_of(line.substr(level + 1)), {}});
    } else if (!line.empty()) {
      file = named_file(line);
    }
  }
  return out;
}

}  // namespace millrace::testing
