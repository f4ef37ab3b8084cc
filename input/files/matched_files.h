// The files that patterns name, matched and looked at before a run, so that what is missing is known by then.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/input/files/file_system.h"

namespace millrace {

struct MatchedFile {
  std::string path;
  bool is_stream = false;  // "-" is one
  uint64_t size = 0;       // of a file
};

// In the order of the patterns, what matches one sorted; a file that is called as one is written is all that it
// matches, and folders that are called as they are written in one are meant themselves. A file that two of them match
// comes twice. Throws ConfigError for a pattern that is longer than any path, MissingError for a pattern that nothing
// matches, at its `place`, and for the first path that is no file or stream; IoError for the first that cannot be read.
// Who looks for longer than `patience` has files far away, each of which takes its time, and looks at many at once from
// then on.
std::vector<MatchedFile> match_files(std::span<const std::string> patterns, const Place& place, FileSystem& files,
                                     std::chrono::nanoseconds patience = std::chrono::milliseconds(5));

}  // namespace millrace
