// The file of a Trace.
#pragma once

#include <string>

#include "millrace/core/export.h"
#include "millrace/core/trace.h"

namespace millrace {

// Writes what was traced until now; the file appears whole or not at all. Throws IoError.
MILLRACE_EXPORT void write_trace(const Trace& trace, const std::string& path);

}  // namespace millrace
