// The result of `trainer verify-resume`, as text for people and as JSON. Pure functions.
#pragma once

#include <string>

#include "millrace/cli/verify/verification.h"

namespace millrace::cli {

std::string verify_text(const VerifyReport& report);
// The event "verify_resume".
std::string verify_event(const VerifyReport& report);

}  // namespace millrace::cli
