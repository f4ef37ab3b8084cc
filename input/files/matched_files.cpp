#include "millrace/input/files/matched_files.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include "millrace/core/clock.h"
#include "millrace/core/text.h"
#include "millrace/input/files/foreign_file.h"
#include "millrace/input/files/open_files.h"

namespace millrace {

namespace {

// How many names of a folder are shown if nothing matched.
constexpr size_t kShownNames = 5;
constexpr size_t kShownBytes = 200;  // of a path
// Linux opens no longer path.
constexpr size_t kMaxPatternBytes = 4096;
constexpr std::string_view kSpecial = "*?[\\";

// The folder part of a pattern, if it has wildcards and a folder of exactly that name exists; else empty.
std::string literal_folder(std::string_view pattern, FileSystem& files) {
  const size_t slash = pattern.rfind('/');
  if (slash == pattern.npos || pattern.substr(0, slash).find_first_of(kSpecial) == pattern.npos) return {};
  std::string folder(pattern.substr(0, slash));
  return files.type(folder) == FileSystem::Type::folder ? folder : std::string();
}

// A pattern that only `path` matches.
std::string as_pattern(std::string_view path) {
  std::string out;
  for (const char c : path) {
    if (kSpecial.find(c) != kSpecial.npos) out += '\\';
    out += c;
  }
  return out;
}

std::string folder_of(std::string_view pattern, FileSystem& files) {
  if (std::string folder = literal_folder(pattern, files); !folder.empty()) return folder;
  const size_t wildcard = std::min(pattern.find_first_of("*?["), pattern.size());
  const size_t slash = pattern.substr(0, wildcard).rfind('/');
  if (slash == pattern.npos) return ".";
  return slash == 0 ? "/" : std::string(pattern.substr(0, slash));
}

// A hint for a pattern that only other programs understand; else empty.
std::string foreign_hint(std::string_view pattern) {
  if (pattern.starts_with('~')) return "~ is not a folder here: write the whole path";
  if (pattern.find("://") != pattern.npos) {
    return "only local files are read: download it first, or pipe it: curl .. | trainer .. with files: \"-\" or "
           "--data -";
  }
  if (pattern.find("**") != pattern.npos) {
    return "** matches in one folder, as * does: write a pattern for each depth, files: [\"*.csv\", \"*/*.csv\"]";
  }
  return {};
}

// A hint that describes the folder in which nothing matched.
std::string describe_folder(const std::string& pattern, FileSystem& files) {
  const std::string folder = folder_of(pattern, files);
  const std::string shown = shortened(folder, kShownBytes);
  const std::string name = folder == "." ? "the current folder" : cat("the folder ", shown);
  if (files.type(folder) != FileSystem::Type::folder) {
    return folder == "." ? std::string() : cat("there is no folder ", shown);
  }
  std::vector<std::string> names = files.list(folder);
  if (names.empty()) return cat(name, " is empty");
  const std::string near = nearest(pattern.substr(pattern.rfind('/') + 1), names);
  const size_t count = names.size();
  if (count > kShownNames) {
    names.resize(kShownNames);
    names.push_back(cat(count - kShownNames, " more"));
  }
  return cat(near.empty() ? "" : cat("did you mean ", near, "? "), name, " holds ", join(names));
}

bool is_path(const std::string& pattern, FileSystem& files) {
  return pattern == "-" ||
         (pattern.find_first_of(kSpecial) != pattern.npos && files.type(pattern) != FileSystem::Type::none);
}

std::vector<std::string> paths_of(const std::string& pattern, FileSystem& files) {
  if (is_path(pattern, files)) return {pattern};
  const std::string folder = literal_folder(pattern, files);
  return files.match(folder.empty() ? pattern : as_pattern(folder) + pattern.substr(folder.size()));
}

void add_matches(const std::string& pattern, const Place& place, FileSystem& files, std::vector<MatchedFile>& out) {
  if (pattern.size() > kMaxPatternBytes) {
    throw ConfigError(
        cat("expected a path or pattern of at most ", kMaxPatternBytes, " bytes, got one of ", pattern.size()), place);
  }
  std::vector<std::string> paths = paths_of(pattern, files);
  if (paths.empty()) {
    std::string hint = foreign_hint(pattern);
    if (hint.empty()) hint = describe_folder(pattern, files);
    throw MissingError(cat("no file matches ", quote(pattern, kShownBytes)), place, hint);
  }
  for (std::string& path : paths) out.push_back({.path = std::move(path)});
}

// A file that stands for the folder: a CSV file if there is one among the first names; empty if there is no file.
std::string typical_file(const std::string& folder, const std::vector<std::string>& names, FileSystem& files) {
  constexpr size_t kLookedAt = 100;
  std::string found;
  for (size_t i = 0; i < std::min(names.size(), kLookedAt); ++i) {
    const std::string& name = names[i];
    if (name.starts_with('.') || files.type(folder + name) != FileSystem::Type::file) continue;
    if (name.ends_with(".csv")) return name;
    if (found.empty()) found = name;
  }
  return found;
}

// A hint how to read a folder: a pattern for its files, or how to turn them into text first. `folder` ends with a
// slash.
std::string folder_hint(std::string folder, FileSystem& files) {
  std::string pattern = folder;
  for (int depth = 0; depth < 3; ++depth) {
    const std::vector<std::string> names = files.list(folder.substr(0, std::max<size_t>(folder.size() - 1, 1)));
    const std::string name = typical_file(folder, names, files);
    if (!name.empty()) {
      std::string start(512, '\0');
      const std::unique_ptr<File> file = files.open(folder + name);
      start.resize(file->read(0, start.data(), start.size()));
      if (const auto foreign = foreign_file(start); foreign && foreign->certain && !foreign->readable) {
        return cat(folder, name, ' ', foreign->what, ": ", foreign->remedy);
      }
      const size_t dot = name.rfind('.');
      return cat("to read what is in it, write ", pattern, '*', dot == name.npos ? "" : name.substr(dot));
    }
    const auto inner = std::find_if(names.begin(), names.end(), [&](const std::string& one) {
      return !one.starts_with('.') && files.type(folder + one) == FileSystem::Type::folder;
    });
    if (inner == names.end()) break;
    folder += *inner + '/';
    pattern += "*/";
  }
  return "there is no file in it";
}

MissingError folder_error(const std::string& path, FileSystem& files) {
  std::string hint;
  try {
    hint = folder_hint(path.ends_with('/') ? path : path + '/', files);
  } catch (const IoError&) {
    // Only the failure that came first is reported.
  }
  return MissingError("expected a file, got a folder", {path}, hint);
}

void look_at(MatchedFile& file, FileSystem& files) {
  const std::string& path = file.path;
  const FileSystem::Look now = files.look(path);
  switch (now.type) {
    case FileSystem::Type::file: file.size = now.size; break;
    case FileSystem::Type::stream: file.is_stream = true; break;
    case FileSystem::Type::none: throw MissingError("the file is a link to nothing", {path});
    case FileSystem::Type::folder: throw folder_error(path, files);
    case FileSystem::Type::other: throw MissingError("expected a file, got something else", {path});
  }
}

// Starts threads only after `patience`: if looking is fast, threads would cost more than they save.
void look_at(std::vector<MatchedFile>& matched, FileSystem& files, std::chrono::nanoseconds patience) {
  constexpr size_t kAtOnce = 32;
  std::vector<std::exception_ptr> failures(matched.size());
  const auto look = [&](size_t i) {
    try {
      const ReadingTurn turn;  // it may open the file
      look_at(matched[i], files);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  };
  size_t alone = 0;
  for (const auto start = Clock::now(); alone < matched.size() && Clock::now() - start < patience; ++alone) look(alone);
  std::atomic<size_t> next{alone};
  const auto look_on = [&] {
    for (size_t i = next++; i < matched.size(); i = next++) look(i);
  };
  std::vector<std::jthread> helpers;
  helpers.reserve(kAtOnce);
  try {
    while (helpers.size() < std::min(kAtOnce, matched.size() - alone)) helpers.emplace_back(look_on);
  } catch (const std::system_error&) {  // goes on with the threads that there are
  }
  look_on();
  helpers.clear();  // joins them
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace

std::vector<MatchedFile> match_files(std::span<const std::string> patterns, const Place& place, FileSystem& files,
                                     std::chrono::nanoseconds patience) {
  std::vector<MatchedFile> out;
  for (const std::string& pattern : patterns) add_matches(pattern, place, files, out);
  look_at(out, files, patience);
  return out;
}

}  // namespace millrace
