// How the files of two trainings differ that should have ended the same. Functions only.
#pragma once

#include <string>

namespace millrace::cli {

// The first difference of two model files, but for the configurations in them, in words; empty: there is none. Throws
// as ModelFile::read().
std::string model_difference(const std::string& one, const std::string& resumed);

// The first line that differs, likewise. `is_log`: only the lasting part of each line counts (training_events.h). Files
// that are not there have no lines.
std::string line_difference(const std::string& one, const std::string& resumed, bool is_log);

}  // namespace millrace::cli
