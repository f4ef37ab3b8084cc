// Compares the files of two trainings that should have ended the same. Functions only.
#pragma once

#include <string>

namespace millrace::cli {

// The first difference between two model files, in words; empty if there is none. The configurations in the files may
// differ. Throws what ModelFile::read() throws.
std::string model_difference(const std::string& one, const std::string& resumed);

// The first line that differs, in words; empty if none does. `is_log`: only the lasting part of each line counts
// (training_events.h). A missing file is like an empty one.
std::string line_difference(const std::string& one, const std::string& resumed, bool is_log);

}  // namespace millrace::cli
