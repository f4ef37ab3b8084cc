// Reports a failure: as text for people, as a JSON event for programs, as an exit code for shells. Pure functions.
#pragma once

#include <exception>
#include <string>

#include "millrace/core/errors.h"

namespace millrace::cli {

struct Failure {
  std::string kind;  // one of data, config, missing, io, device, internal, usage
  Place place;
  std::string message;
  std::string hint;
  int exit_code = 0;
};

Failure describe_failure(const std::exception& failure);

// "error: place: message", then "hint: ..." if there is one. Control characters are escaped.
std::string failure_text(const Failure& failure, bool color);
// The "error" event, one line. What is unknown is null.
std::string failure_event(const Failure& failure);

}  // namespace millrace::cli
