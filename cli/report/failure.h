// Reports a failure: as text for people, as a JSON event for programs. Pure functions.
#pragma once

#include <exception>
#include <string>

#include "millrace/core/errors.h"

namespace millrace::cli {

// The exception as the Error that is reported: another one is a bug, or lack of memory.
std::exception_ptr reported(const std::exception_ptr& failure);

// "error: place: message", then "hint: ..." if there is one. Control characters are escaped.
std::string failure_text(const Error& failure, bool color);
// The "error" event, one line. What is unknown is null.
std::string failure_event(const Error& failure);

}  // namespace millrace::cli
