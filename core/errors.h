// Errors: every failure that leaves the library is an Error with a place, a message and a hint.
//
// An Error is a value: copying it is cheap enough for the failure path, and add_context() extends the
// message on the way up without losing the type. End of data and closed queues are return values, never errors.
// Paths and texts in it come from anywhere, so message, hint and file are cut after 4096 bytes each.
// Thread-safety: an Error is an ordinary value; share it only by copy.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "millrace/core/export.h"

namespace millrace {

// A position in a text file. Lines and columns are 1-based bytes; 0 means unknown.
struct MILLRACE_EXPORT Place {
  std::string file;
  int64_t line = 0;
  int64_t column = 0;

  // "file:line:column" without the unknown parts; empty if nothing is known.
  std::string text() const;
  bool known() const { return !file.empty(); }
  bool operator==(const Place&) const = default;
};

// The subject of a failure. It decides the process's exit code and the "kind" of the JSON event.
enum class ErrorKind { config, data, missing, io, device, internal };

MILLRACE_EXPORT std::string_view to_string(ErrorKind kind);

class MILLRACE_EXPORT Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string_view message, const Place& place = {}, std::string_view hint = {});
  ~Error() override;
  Error(const Error&);
  Error& operator=(const Error&);

  // "place: message; hint", one line.
  const char* what() const noexcept override { return text_.c_str(); }

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const Place& place() const { return place_; }
  const std::string& hint() const { return hint_; }

  // Puts "context: " before the message. Use it to rethrow: `catch (Error& e) { e.add_context(..); throw; }`.
  Error& add_context(std::string_view context);
  // Gives a place to an error that has none yet; a known place stays.
  Error& set_place(const Place& place);
  // Gives a hint to an error that has none yet.
  Error& set_hint(std::string_view hint);

  // Throws a copy of this error with its own dynamic type.
  [[noreturn]] virtual void raise() const;

 private:
  void compose();

  ErrorKind kind_;
  std::string message_;
  Place place_;
  std::string hint_;
  std::string text_;
};

// Declares an Error subclass of a fixed kind that keeps its type through raise(). One .cpp has its
// MILLRACE_DEFINE_ERROR. Everything is out of line, because errors are thrown everywhere.
#define MILLRACE_DECLARE_ERROR(Name, Base)                                                        \
  class MILLRACE_EXPORT Name : public Base {                                                      \
   public:                                                                                        \
    explicit Name(std::string_view message, const Place& place = {}, std::string_view hint = {}); \
    ~Name() override;                                                                             \
    Name(const Name&);                                                                            \
    Name& operator=(const Name&);                                                                 \
    [[noreturn]] void raise() const override;                                                     \
                                                                                                  \
   protected:                                                                                     \
    Name(ErrorKind kind, std::string_view message, const Place& place, std::string_view hint);    \
  }

#define MILLRACE_DEFINE_ERROR(Name, Base, Kind)                                                   \
  Name::Name(std::string_view message, const Place& place, std::string_view hint)                 \
      : Base(ErrorKind::Kind, message, place, hint) {}                                            \
  Name::Name(ErrorKind kind, std::string_view message, const Place& place, std::string_view hint) \
      : Base(kind, message, place, hint) {}                                                       \
  Name::~Name() = default;                                                                        \
  Name::Name(const Name&) = default;                                                              \
  Name& Name::operator=(const Name&) = default;                                                   \
  void Name::raise() const { throw *this; }                                                       \
  static_assert(true)

// The configuration is wrong: unknown key, bad value, ops that do not fit.
MILLRACE_DECLARE_ERROR(ConfigError, Error);
// Shapes or dtypes of a model or of a call do not fit.
MILLRACE_DECLARE_ERROR(ShapeError, ConfigError);
// The data is wrong: a bad number, a ragged row.
MILLRACE_DECLARE_ERROR(DataError, Error);
// Reading or writing failed, or the system refused something else, such as a thread.
MILLRACE_DECLARE_ERROR(IoError, Error);
// An input did not exist, or was not readable, before the run began.
MILLRACE_DECLARE_ERROR(MissingError, IoError);
// A device, its driver or one of its libraries failed.
MILLRACE_DECLARE_ERROR(DeviceError, Error);
// The library broke a promise: a bug in it, or lack of memory.
MILLRACE_DECLARE_ERROR(InternalError, Error);
// The program made a call too late, or too early: a trainer runs once.
MILLRACE_DECLARE_ERROR(CallError, InternalError);

// The text of an exception from the code of others, whose what() may return null.
inline std::string_view what_of(const std::exception& exception) {
  const char* const text = exception.what();
  return text != nullptr ? text : "an exception without a text";
}

// The exception as an Error: unchanged if it is one, an IoError for what the system refused (std::system_error),
// otherwise an InternalError; both begin with `who`. `place` is in the configuration: an Error without a place gets it,
// unless it is about data or files, whose places are there. For exceptions from the code of others.
MILLRACE_EXPORT std::exception_ptr as_error(const std::exception_ptr& exception, std::string_view who,
                                            const Place& place = {}) noexcept;

// Returns what `body` returns, which calls code of others. Whatever that code throws leaves as as_error() makes it.
template <class Body>
decltype(auto) attributed(std::string_view who, const Place& place, const Body& body) {
  try {
    return body();
  } catch (...) {
    std::rethrow_exception(as_error(std::current_exception(), who, place));
  }
}

// Throws a copy of the Error with its own type, so that every caller may add to its own copy; the copy gets `place` if
// it has none. Any other exception is thrown unchanged.
[[noreturn]] MILLRACE_EXPORT void raise_copy(const std::exception_ptr& error, const Place& place = {});

}  // namespace millrace
