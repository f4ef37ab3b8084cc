// Files in use: a run must not write over its configuration, its data, the files that its ops write, or the program
// itself.
#pragma once

#include <span>
#include <string>

#include "millrace/input/graph/pipeline.h"

namespace millrace {

// Whether both paths lead to one file, links followed; also if the file is not there yet.
bool same_file(const std::string& path, const std::string& other);

// The first of `paths` whose file is among `others`, too; empty when there is none. Files that are not there do not
// count.
std::string first_shared(std::span<const std::string> others, std::span<const std::string> paths);

// Says what would be lost if `path` were written: `would overwrite "d/a.csv", which this run reads`; empty if nothing.
// `config` is the path of the configuration.
std::string would_overwrite(const std::string& path, const InputFiles& files, const std::string& config);

// Whether `path` lies in `folder`, the folder of the run's checkpoints, and has a name as they and their lock have.
bool is_among_checkpoints(const std::string& path, const std::string& folder);

}  // namespace millrace
