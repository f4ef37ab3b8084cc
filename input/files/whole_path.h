// Tells whether two spellings of a path mean one place. Thread-safe.
#pragma once

#include <string>

namespace millrace {

// The path from the root, without "." and "..": the same text for "a.csv", "./a.csv" and "/here/a.csv". Nothing is
// looked up, so links stay as they are.
std::string whole_path(const std::string& path);

}  // namespace millrace
