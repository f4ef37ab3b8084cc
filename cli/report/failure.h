// Reports a failure: as text for people, as a JSON event for programs. Pure functions.
#pragma once

#include <exception>
#include <string>

#include "millrace/core/errors.h"

namespace millrace::cli {

// What an exception that is not an Error says: a bug, or lack of memory.
InternalError foreign_failure(const std::exception& failure);

// "error: place: message", then "hint: ..." if there is one. Control characters are escaped.
std::string failure_text(const Error& failure, bool color);
// The "error" event, one line. What is unknown is null.
std::string failure_event(const Error& failure);

}  // namespace millrace::cli
