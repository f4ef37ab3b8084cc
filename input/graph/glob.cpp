#include "millrace/input/graph/glob.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/wildcard.h"

namespace millrace {

namespace {

constexpr std::string_view kWildcards = "*?[\\";

// Matches the byte `c` against the set at the start of `pattern` ("[a-z]..."); `length` receives the set's length, 0
// when it has no end and so is no set.
bool set_matches(std::string_view pattern, char c, size_t& length) {
  const auto byte = static_cast<unsigned char>(c);
  size_t i = 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool found = false;
  for (const size_t first = i; i < pattern.size(); ++i) {
    if (pattern[i] == ']' && i > first) {
      length = i + 1;
      return found != negated;
    }
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    const auto low = static_cast<unsigned char>(pattern[i]);
    auto high = low;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      i += 2;
      if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
      high = static_cast<unsigned char>(pattern[i]);
    }
    found = found || (low <= byte && byte <= high);
  }
  length = 0;
  return false;
}

// The length of the first element of `pattern`, which is no `*`, when it matches the byte `c`, else 0.
size_t matching_length(std::string_view pattern, char c) {
  size_t length = 0;
  if (pattern[0] == '?') return 1;
  if (pattern[0] == '[') {
    const bool found = set_matches(pattern, c, length);
    if (length > 0) return found ? length : 0;
  }
  if (pattern[0] == '\\' && pattern.size() > 1) return pattern[1] == c ? 2 : 0;
  return pattern[0] == c ? 1 : 0;
}

std::string without_escapes(std::string_view pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    out += pattern[i];
  }
  return out;
}

bool exists(const std::string& path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0;
}

// Adds what matches `rest` below `folder`, the part of the path that is settled, with the `/` behind it.
void add_matches(const std::string& folder, std::string_view rest, std::vector<std::string>& out) {
  const size_t separator = std::min(rest.find('/'), rest.size());
  const size_t next = std::min(rest.find_first_not_of('/', separator), rest.size());
  const std::string_view name = rest.substr(0, separator);
  const std::string_view slashes = rest.substr(separator, next - separator);
  const std::string_view below = rest.substr(next);
  const auto settle = [&](const std::string& found, bool is_listed = false) {
    const std::string path = cat(folder, found, slashes);
    if (!below.empty()) {
      add_matches(path, below, out);
    } else if ((is_listed && slashes.empty()) || exists(path)) {
      out.push_back(path);
    }
  };
  if (name.find_first_of(kWildcards) == std::string_view::npos) {
    settle(std::string(name));
  } else if (name.find_first_of("*?[") == std::string_view::npos) {
    settle(without_escapes(name));
  } else {
    for (const std::string& entry : list_folder(folder.empty() ? "." : folder)) {
      if (glob_matches(name, entry)) settle(entry, true);
    }
  }
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view name) {
  const bool hidden = !name.empty() && name[0] == '.';
  const bool literal_dot = !pattern.empty() && (pattern[0] == '.' || pattern.substr(0, 2) == "\\.");
  if (hidden && !literal_dot) return false;
  return matches_with_stars(pattern, name, matching_length);
}

std::vector<std::string> glob_paths(std::string_view pattern) {
  std::vector<std::string> out;
  const size_t root = std::min(pattern.find_first_not_of('/'), pattern.size());
  add_matches(std::string(pattern.substr(0, root)), pattern.substr(root), out);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> list_folder(const std::string& folder) {
  struct Close {
    void operator()(DIR* open) const { closedir(open); }
  };
  const std::unique_ptr<DIR, Close> open(opendir(folder.c_str()));
  std::vector<std::string> names;
  if (!open) {
    if (errno == ENOENT || errno == ENOTDIR) return names;
    throw IoError(cat("cannot read the folder: ", errno_text(errno)), {folder});
  }
  for (errno = 0; const dirent* entry = readdir(open.get()); errno = 0) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) throw IoError(cat("cannot read the folder: ", errno_text(errno)), {folder});
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace millrace
