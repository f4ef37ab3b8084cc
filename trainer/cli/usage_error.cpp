#include "millrace/trainer/cli/usage_error.h"

namespace millrace::cli {

UsageError::~UsageError() = default;

}  // namespace millrace::cli
