// The end of the links of a path that is to be written. Thread-safe.
#pragma once

#include <string>

namespace millrace {

// The path at the end of the symbolic links that begin at `path`, whether something is there or not; `path` itself if
// it is not a link. Throws IoError for more than 40 links, which are a loop to Linux, too, and for a link that the
// system follows to a file without a name (/dev/stdout may be one).
std::string follow_links(const std::string& path);

// The hint for a failure `code` to make `path`: to make its folder, if that is missing; else empty.
std::string missing_folder_hint(const std::string& path, int code);

}  // namespace millrace
