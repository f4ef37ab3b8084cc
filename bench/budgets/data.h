// Files of random rows, made once and then in the page cache.
#pragma once

#include <string>

#include "bench/budgets/budget.h"
#include "bench/budgets/texts.h"

namespace millrace::bench {

inline constexpr int kRowsOfFile = 6000;  // 65 MB

// The path of a file of kRowsOfFile rows of float32 text.
std::string data_file(const Setting& setting);

}  // namespace millrace::bench
