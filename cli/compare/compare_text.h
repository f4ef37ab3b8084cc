// What `trainer compare` found, as text for people and as JSON. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "millrace/cli/compare/comparison.h"

namespace millrace::cli {

// A table of the deliveries, where their time went, and what follows from it.
std::string compare_text(const Comparison& comparison);
// One object on one line.
std::string compare_json(const Comparison& comparison);

// What follows: which is faster by how much, what the rest of the time is, whether all trained the same. Differences
// below the noise are called none. A sentence each.
std::vector<std::string> compare_verdicts(const Comparison& comparison);

// "100 steps of 256 rows on 2 threads of AMD EPYC 9B14: 5 rounds, the first 10 steps of each training not timed".
std::string compare_setting(const Comparison& comparison);

}  // namespace millrace::cli
