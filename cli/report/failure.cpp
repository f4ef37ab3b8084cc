#include "millrace/cli/report/failure.h"

#include <new>

#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/terminal.h"
#include "millrace/cli/text/json_text.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace::cli {

namespace {

std::optional<int64_t> known(int64_t number) { return number > 0 ? std::optional(number) : std::nullopt; }

}  // namespace

std::exception_ptr reported(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    return std::make_exception_ptr(InternalError(
        "out of memory", {},
        "lower batch_size, capacity or the sizes of the layers; trainer check prints how much is needed"));
  } catch (...) {
    return as_error(failure, {});
  }
}

std::string failure_text(const Error& failure, bool color) {
  const std::string place = failure.place().text();
  std::string out = paint("error:", Color::red, color) + ' ';
  if (!place.empty()) out += cat(escape_controls(place), ": ");
  out += cat(escape_controls(failure.message()), '\n');
  const std::string& hint = failure.hint();
  if (!hint.empty()) out += cat(paint("hint:", Color::cyan, color), ' ', escape_controls(hint), '\n');
  return out;
}

std::string failure_event(const Error& failure) {
  const bool usage = dynamic_cast<const UsageError*>(&failure) != nullptr;
  const Place& place = failure.place();
  JsonText json = JsonText::event("error");
  json.key("kind").value(usage ? "usage" : to_string(failure.kind())).key("file").text_or_null(place.file);
  json.key("line").value(known(place.line)).key("column").value(known(place.column));
  return json.key("message").value(failure.message()).key("hint").text_or_null(failure.hint()).line();
}

}  // namespace millrace::cli
