#include "millrace/core/errors.h"

#include <new>
#include <system_error>

#include "millrace/core/text.h"

namespace millrace {

namespace {

// The longest path of Linux.
constexpr size_t kMostBytes = 4096;

void cut(std::string& text) {
  constexpr size_t kDots = 3;
  if (text.size() > kMostBytes) text = shortened(text, kMostBytes - kDots);
}

}  // namespace

std::string Place::text() const {
  std::string text = file;
  if (line > 0) {
    text += ':' + std::to_string(line);
    if (column > 0) text += ':' + std::to_string(column);
  }
  return text;
}

std::string_view to_string(ErrorKind kind) {
  constexpr std::string_view kNames[] = {"config", "data", "missing", "io", "device", "internal"};
  return kNames[static_cast<size_t>(kind)];
}

Error::Error(ErrorKind kind, std::string_view message, const Place& place, std::string_view hint)
    : kind_(kind), message_(message), place_(place), hint_(hint) {
  compose();
}
Error::~Error() = default;
Error::Error(const Error&) = default;
Error& Error::operator=(const Error&) = default;
void Error::raise() const { throw *this; }

MILLRACE_DEFINE_ERROR(ConfigError, Error, config);
MILLRACE_DEFINE_ERROR(ShapeError, ConfigError, config);
MILLRACE_DEFINE_ERROR(DataError, Error, data);
MILLRACE_DEFINE_ERROR(IoError, Error, io);
MILLRACE_DEFINE_ERROR(MissingError, IoError, missing);
MILLRACE_DEFINE_ERROR(DeviceError, Error, device);
MILLRACE_DEFINE_ERROR(InternalError, Error, internal);
MILLRACE_DEFINE_ERROR(CallError, InternalError, internal);

Error& Error::add_context(std::string_view context) {
  message_ = std::string(context) + ": " + message_;
  compose();
  return *this;
}

Error& Error::set_place(const Place& place) {
  if (!place_.known()) place_ = place;
  compose();
  return *this;
}

Error& Error::set_hint(std::string_view hint) {
  if (hint_.empty()) hint_ = hint;
  compose();
  return *this;
}

void Error::compose() {
  cut(message_);
  cut(place_.file);
  cut(hint_);
  text_ = place_.text();
  if (!text_.empty()) text_ += ": ";
  text_ += message_;
  if (!hint_.empty()) text_ += "; " + hint_;
}

namespace {

template <class E>
std::exception_ptr make_error(std::string_view who, std::string_view what, const Place& place) noexcept {
  try {
    throw E(cat(who, who.empty() ? "" : ": ", what), place);
  } catch (const Error&) {
    return std::current_exception();
  } catch (...) {
    // There was no memory for the message. This one is so short that it needs none.
    return std::make_exception_ptr(InternalError("out of memory"));
  }
}

bool is_placed_by(const Error& error, const Place& place) {
  const ErrorKind kind = error.kind();
  const bool of_data = kind == ErrorKind::data || kind == ErrorKind::missing || kind == ErrorKind::io;
  return !of_data && !error.place().known() && place.known();
}

std::exception_ptr copy_at(const std::exception_ptr& error, const Place& place) noexcept {
  try {
    raise_copy(error, place);
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

std::exception_ptr as_error(const std::exception_ptr& exception, std::string_view who, const Place& place) noexcept {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    return is_placed_by(error, place) ? copy_at(exception, place) : exception;
  } catch (const std::bad_alloc&) {
    return make_error<InternalError>(who, "out of memory", place);
  } catch (const std::system_error& refused) {
    return make_error<IoError>(who, what_of(refused), place);
  } catch (const std::exception& other) {
    return make_error<InternalError>(who, what_of(other), place);
  } catch (...) {
    return make_error<InternalError>(who, "an exception of unknown type", place);
  }
}

void raise_copy(const std::exception_ptr& error, const Place& place) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& original) {
    try {
      original.raise();
    } catch (Error& copy) {
      try {
        copy.set_place(place);
      } catch (const std::bad_alloc&) {  // then the copy has no place
      }
      throw;
    } catch (const std::bad_alloc&) {  // then the original is thrown
    }
  }
  std::rethrow_exception(error);
}

}  // namespace millrace
