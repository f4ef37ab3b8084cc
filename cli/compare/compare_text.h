// The result of `trainer compare`, as text for people, as JSON and as a page. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "millrace/cli/compare/comparison.h"

namespace millrace::cli {

// A table of the deliveries and of where their time went, then the verdicts.
std::string compare_text(const Comparison& comparison);
// One JSON object on one line.
std::string compare_json(const Comparison& comparison);
// One HTML page that needs no other file: a table, bars, and how full the queues were.
std::string compare_page(const Comparison& comparison);

// The conclusions from the numbers, one sentence each: which delivery is faster and by how much, what takes the rest of
// the time, whether all trained the same model. A difference below the noise does not count.
std::vector<std::string> compare_verdicts(const Comparison& comparison);

// "100 steps of 256 rows on 2 threads of AMD EPYC 9B14: 5 rounds, the first 10 steps of each training not timed".
std::string compare_setting(const Comparison& comparison);

}  // namespace millrace::cli
