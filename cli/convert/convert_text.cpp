#include "millrace/cli/convert/convert_text.h"

#include "millrace/cli/report/json_events.h"
#include "millrace/cli/report/result_text.h"
#include "millrace/cli/text/json_text.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/core/text.h"
#include "millrace/trainer/files/yaml_writer.h"

namespace millrace::cli {

std::string convert_text(const ConvertResult& result) {
  std::string out = cat(result.reason, ": ", count_of(static_cast<int64_t>(result.rows), "row"), ", ",
                        count_of(std::ssize(result.files), "file"), " in ", format_seconds(result.seconds));
  if (result.seconds > 0) {
    out += cat(" (", format_rate(static_cast<double>(result.rows) / result.seconds), " rows/s)");
  }
  return cat(out, '\n', left_out_text(result.input), '\n');
}

std::string how_to_read(const ConvertResult& result) {
  if (result.reason == "stopped") return {};
  return cat("a configuration reads them by:\n\n", to_yaml(Spec::map().set("input", result.readers)));
}

std::string convert_event(const ConvertResult& result) {
  JsonText json = JsonText::event("convert");
  json.key("reason").value(result.reason).key("rows").value(result.rows).key("files").value(result.files);
  json.key("dropped").value(dropped_rows(result.input)).key("bad").value(result.input.bad_rows);
  return json.key("input").value(result.readers).key("seconds").value(result.seconds).line();
}

}  // namespace millrace::cli
