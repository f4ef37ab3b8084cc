#include "millrace/api/c/errors.h"

#include <exception>
#include <new>

#include "millrace/core/text.h"

namespace millrace::c {

namespace {

millrace_status status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::config: return MILLRACE_ERROR_CONFIG;
    case ErrorKind::data: return MILLRACE_ERROR_DATA;
    case ErrorKind::missing: return MILLRACE_ERROR_MISSING;
    case ErrorKind::io: return MILLRACE_ERROR_IO;
    case ErrorKind::device: return MILLRACE_ERROR_DEVICE;
    case ErrorKind::internal: return MILLRACE_ERROR_INTERNAL;
  }
  return MILLRACE_ERROR_INTERNAL;
}

// For use when there is no memory even for an error.
millrace_error& out_of_memory() {
  static millrace_error error{MILLRACE_ERROR_INTERNAL, "out of memory", "out of memory", "", ""};
  return error;
}

millrace_status give(millrace_error** out, millrace_status status, const Error& error) noexcept {
  if (out == nullptr) return status;
  try {
    *out = new millrace_error{status,
                              error.what(),
                              error.message(),
                              error.hint(),
                              error.place().file,
                              error.place().line,
                              error.place().column};
  } catch (const std::bad_alloc&) {
    *out = &out_of_memory();
  }
  return status;
}

}  // namespace

millrace_status guarded(millrace_error** out, FunctionRef<void()> body) noexcept {
  if (out != nullptr) *out = nullptr;
  try {
    try {
      body();
      return MILLRACE_OK;
    } catch (const ArgumentError& error) {
      return give(out, MILLRACE_ERROR_ARGUMENT, error);
    } catch (const CallError& error) {
      return give(out, MILLRACE_ERROR_CALL, error);
    } catch (const Error& error) {
      return give(out, status_of(error.kind()), error);
    } catch (const std::bad_alloc&) {
      return give(out, MILLRACE_ERROR_INTERNAL, InternalError("out of memory"));
    } catch (const std::exception& error) {
      return give(out, MILLRACE_ERROR_INTERNAL, InternalError(what_of(error)));
    } catch (...) {
      return give(out, MILLRACE_ERROR_INTERNAL, InternalError("an exception of unknown type"));
    }
  } catch (...) {
    if (out != nullptr) *out = &out_of_memory();
    return MILLRACE_ERROR_INTERNAL;
  }
}

void require(const void* argument, std::string_view name) {
  if (argument == nullptr) throw ArgumentError(cat(name, " is NULL"));
}

void require_size(size_t size, std::string_view name) {
  if (size <= sizeof size) throw ArgumentError(cat(name, " is ", size, ", expected the size of the structure"));
}

}  // namespace millrace::c

extern "C" {

millrace_status millrace_error_status(const millrace_error* error) {
  return error != nullptr ? error->status : MILLRACE_OK;
}
const char* millrace_error_text(const millrace_error* error) { return error != nullptr ? error->text.c_str() : ""; }
const char* millrace_error_message(const millrace_error* error) {
  return error != nullptr ? error->message.c_str() : "";
}
const char* millrace_error_hint(const millrace_error* error) { return error != nullptr ? error->hint.c_str() : ""; }
const char* millrace_error_file(const millrace_error* error) { return error != nullptr ? error->file.c_str() : ""; }
int64_t millrace_error_line(const millrace_error* error) { return error != nullptr ? error->line : 0; }
int64_t millrace_error_column(const millrace_error* error) { return error != nullptr ? error->column : 0; }
void millrace_error_free(millrace_error* error) {
  if (error != &millrace::c::out_of_memory()) delete error;
}

}  // extern "C"
