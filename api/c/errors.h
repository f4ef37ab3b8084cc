// How the C interface answers: what a call throws becomes its status and a millrace_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/c.h"
#include "millrace/core/errors.h"
#include "millrace/core/executor.h"

struct millrace_error {
  millrace_status status = MILLRACE_ERROR_INTERNAL;
  std::string text, message, hint, file;
  int64_t line = 0, column = 0;
};

namespace millrace::c {

// A call whose arguments make no sense; the library's own errors are of configuration and data.
class ArgumentError final : public Error {
 public:
  explicit ArgumentError(std::string_view message) : Error(ErrorKind::internal, message) {}
};

// Runs `body`. What it throws becomes a status and, where `out` is given, an error for millrace_error_free().
millrace_status guarded(millrace_error** out, FunctionRef<void()> body) noexcept;

// Throw ArgumentError: for NULL, and for a structure whose first member does not say how large the caller's is.
void require(const void* argument, std::string_view name);
void require_size(size_t size, std::string_view name);

}  // namespace millrace::c
