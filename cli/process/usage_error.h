// UsageError: the command line itself is wrong; the program ends with exit code 2.
#pragma once

#include "millrace/core/errors.h"

namespace millrace::cli {

MILLRACE_DECLARE_ERROR(UsageError, Error);

}  // namespace millrace::cli
