// A file of 65,536 rows of 1,024 floats, 256 MiB, for what reads records or arrays.
#pragma once

#include <cstdint>
#include <string>

#include "bench/budgets/budget.h"

namespace millrace::bench {

inline constexpr int64_t kRows = 65536, kRowBytes = 4096;

// Made once, after `header`; its path.
std::string rows_file(const Setting& setting, const std::string& name, const std::string& header);

}  // namespace millrace::bench
