// check_out: --out names no file that the run needs.
#pragma once

#include <string>

#include "millrace/cli/arguments/arguments.h"
#include "millrace/input/graph/graph.h"

namespace millrace::cli {

// Throws UsageError when the file of --out is `source` (the configuration or the model), or one that the input graph
// reads or writes. Nothing is wrong without --out.
void check_out(const Arguments& arguments, const InputFiles& files, const std::string& source);

}  // namespace millrace::cli
