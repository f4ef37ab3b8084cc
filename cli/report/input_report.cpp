#include "millrace/cli/report/input_report.h"

#include <fmt/format.h>

#include "millrace/cli/report/json_events.h"
#include "millrace/cli/report/result_text.h"
#include "millrace/cli/text/json_text.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/core/text.h"

namespace millrace::cli {

std::string input_text(const InputResult& result) {
  const InputSummary& input = result.input;
  std::string out = fmt::format("{}: {}, {}, {} in {}", result.reason,
                                input.batches == 1 ? "1 batch" : fmt::format("{} batches", input.batches),
                                count_of(static_cast<int64_t>(input.rows), "row"),
                                count_of(static_cast<int64_t>(input.passes), "epoch"), format_seconds(result.seconds));
  if (result.seconds > 0) {
    out += fmt::format(" ({} rows/s", format_rate(static_cast<double>(input.rows) / result.seconds));
    // A source without files tells of no bytes.
    if (input.bytes > 0) {
      out +=
          fmt::format(", {}/s", format_bytes(static_cast<uint64_t>(static_cast<double>(input.bytes) / result.seconds)));
    }
    out += ')';
  }
  return out + '\n' + left_out_text(input) + '\n';
}

std::string input_event(const InputResult& result) {
  JsonText json;
  json.open('{').key("v").value(1).key("event").value("done").key("reason").value(result.reason);
  json.key("batches").value(result.input.batches).key("rows").value(result.input.rows);
  json.key("epochs").value(result.input.passes);
  json.key("dropped").value(dropped_rows(result.input)).key("bad").value(result.input.bad_rows);
  json.key("seconds").value(result.seconds).close('}');
  return json.text() + '\n';
}

}  // namespace millrace::cli
