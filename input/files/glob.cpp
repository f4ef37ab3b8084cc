#include "millrace/input/files/glob.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/wildcard.h"

namespace millrace {

namespace {

// Matches the byte `c` against the set at the start of `pattern` ("[a-z]..."). `length` receives the set's length; 0 if
// there is no closing bracket, and so no set.
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

bool has_wildcard(std::string_view name) { return name.find_first_of("*?[") != std::string_view::npos; }

bool exists(const std::string& path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0;
}

// Replaces each of `folders` by the paths in it that `name` may mean, with the `slashes` after it.
void enter(std::vector<std::string>& folders, std::string_view name, std::string_view slashes) {
  if (!has_wildcard(name)) {
    for (std::string& folder : folders) folder += cat(without_escapes(name), slashes);
    return;
  }
  std::vector<std::string> found;
  for (const std::string& folder : folders) {
    for (const std::string& entry : list_folder(folder.empty() ? "." : folder)) {
      if (glob_matches(name, entry)) found.push_back(cat(folder, entry, slashes));
    }
  }
  folders = std::move(found);
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view name) {
  const bool hidden = !name.empty() && name[0] == '.';
  const bool literal_dot = !pattern.empty() && (pattern[0] == '.' || pattern.substr(0, 2) == "\\.");
  if (hidden && !literal_dot) return false;
  return matches_with_stars(pattern, name, matching_length);
}

std::vector<std::string> glob_paths(std::string_view pattern) {
  const size_t root = std::min(pattern.find_first_not_of('/'), pattern.size());
  std::vector<std::string> paths = {std::string(pattern.substr(0, root))};
  bool listed = false;  // paths that were listed exist
  for (std::string_view rest = pattern.substr(root); !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    const size_t next = std::min(rest.find_first_not_of('/', name.size()), rest.size());
    enter(paths, name, rest.substr(name.size(), next - name.size()));
    rest.remove_prefix(next);
    listed = has_wildcard(name) && next == name.size();
  }
  if (!listed) std::erase_if(paths, [](const std::string& path) { return !exists(path); });
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> list_folder(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    names.push_back(entry->path().filename().string());
  }
  const bool none = failure == std::errc::no_such_file_or_directory || failure == std::errc::not_a_directory;
  if (failure == std::errc::not_enough_memory) throw InternalError("cannot read the folder: out of memory", {folder});
  if (failure && !none) throw IoError(cat("cannot read the folder: ", errno_text(failure.value())), {folder});
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace millrace
