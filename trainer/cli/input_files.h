// The files that a configuration reads, so that none of them is overwritten.
#pragma once

#include <string>

#include "millrace/core/spec.h"

namespace millrace::cli {

// Throws UsageError when `path` is a file that the input list `input` or the configuration file `config` reads, by
// whatever name.
void check_not_an_input(const std::string& path, const Spec& input, const std::string& config);

}  // namespace millrace::cli
