// The files that patterns name. They are matched and looked at before a run, so that a missing file is known before the
// run begins.
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
  bool is_stream = false;  // true for "-", too
  uint64_t size = 0;       // 0 for a stream
};

// The files in the order of the patterns; the matches of one pattern are sorted. If something exists whose path is
// exactly the pattern, wildcards and all ("a[1].csv"), the pattern matches only that path. The same holds for the
// folders in a pattern: if they exist exactly as written, the pattern means them. A file that two patterns match comes
// twice.
// Throws ConfigError for a pattern that is longer than any path; MissingError, at `place`, for a pattern that nothing
// matches; MissingError for the first path that is neither file nor stream; IoError for the first path that cannot be
// read.
// Files are looked at one by one. If that takes longer than `patience`, the files lie on slow storage, and the rest are
// looked at in parallel.
std::vector<MatchedFile> match_files(std::span<const std::string> patterns, const Place& place, FileSystem& files,
                                     std::chrono::nanoseconds patience = std::chrono::milliseconds(5));

}  // namespace millrace
