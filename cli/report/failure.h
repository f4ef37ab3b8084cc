// Reports a failure: as text for people, as a JSON event for programs. Pure functions.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "millrace/core/errors.h"

namespace millrace::cli {

// The exception as an Error. Only a bug or a lack of memory makes one that is not.
std::exception_ptr reported(const std::exception_ptr& failure);

// "error: place: message", then "hint: ..." if there is one. Control characters are escaped.
std::string failure_text(const Error& failure, bool color);
// The "error" event, one line. Unknown values are null.
std::string failure_event(const Error& failure);
// The text of failure_event(InternalError("out of memory")), for use when there is no memory.
inline constexpr std::string_view kOutOfMemoryEvent =
    R"({"v":1,"event":"error","kind":"internal","file":null,"line":null,"column":null,)"
    R"("message":"out of memory","hint":null})"
    "\n";

}  // namespace millrace::cli
