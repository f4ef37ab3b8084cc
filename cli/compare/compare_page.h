// What `trainer compare` found, as one HTML page that needs no other file: a table, bars, and how full the queues were.
// A pure function.
#pragma once

#include <string>

#include "millrace/cli/compare/comparison.h"

namespace millrace::cli {

std::string compare_page(const Comparison& comparison);

}  // namespace millrace::cli
