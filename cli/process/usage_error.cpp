#include "millrace/cli/process/usage_error.h"

namespace millrace::cli {

MILLRACE_DEFINE_ERROR(UsageError, Error, config);

}  // namespace millrace::cli
