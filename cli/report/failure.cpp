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

Failure describe_failure(const std::exception& failure) {
  Failure out;
  if (const auto* error = dynamic_cast<const Error*>(&failure)) {
    const bool usage = dynamic_cast<const UsageError*>(error) != nullptr;
    out.kind = usage ? "usage" : to_string(error->kind());
    out.place = error->place();
    out.message = error->message();
    out.hint = error->hint();
    out.exit_code = usage ? static_cast<int>(kExitUsage) : exit_code(error->kind());
    return out;
  }
  out.kind = "internal";
  out.exit_code = kExitInternal;
  out.message = failure.what();
  if (dynamic_cast<const std::bad_alloc*>(&failure) != nullptr) {
    out.message = "out of memory";
    out.hint = "lower batch_size, capacity or the sizes of the layers; trainer check prints how much is needed";
  }
  return out;
}

std::string failure_text(const Failure& failure, bool color) {
  const std::string place = failure.place.text();
  std::string out = paint("error:", Color::red, color);
  out += ' ';
  if (!place.empty()) out += cat(escape_controls(place), ": ");
  out += cat(escape_controls(failure.message), '\n');
  if (!failure.hint.empty()) out += cat(paint("hint:", Color::cyan, color), ' ', escape_controls(failure.hint), '\n');
  return out;
}

std::string failure_event(const Failure& failure) {
  JsonText json = JsonText::event("error");
  json.key("kind").value(failure.kind).key("file").text_or_null(failure.place.file);
  json.key("line").value(known(failure.place.line)).key("column").value(known(failure.place.column));
  return json.key("message").value(failure.message).key("hint").text_or_null(failure.hint).line();
}

}  // namespace millrace::cli
