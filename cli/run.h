// The program from its arguments to its exit code.
#pragma once

#include <string>
#include <vector>

namespace millrace::cli {

// `words` are the arguments after the program's name. Reports every failure; throws nothing.
int run(const std::vector<std::string>& words);

}  // namespace millrace::cli
