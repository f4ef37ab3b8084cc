// The answers of the C interface: an exception of a call becomes its status and a millrace_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/c.h"
#include "millrace/core/context.h"
#include "millrace/core/errors.h"

struct millrace_error {
  millrace_status status = MILLRACE_ERROR_INTERNAL;
  std::string text, message, hint, file;
  int64_t line = 0, column = 0;
};

namespace millrace::c {

// For a call whose arguments make no sense; the library's own errors are about configuration and data.
class ArgumentError final : public Error {
 public:
  explicit ArgumentError(std::string_view message) : Error(ErrorKind::internal, message) {}
};

// Runs `body`. An exception becomes a status and, if `out` is given, an error for millrace_error_free().
millrace_status guarded(millrace_error** out, FunctionRef<void()> body) noexcept;

// Throw ArgumentError: require() for NULL, require_size() if `size`, the first member of a structure, cannot be the
// size of the caller's structure.
void require(const void* argument, std::string_view name);
void require_size(size_t size, std::string_view name);

}  // namespace millrace::c
