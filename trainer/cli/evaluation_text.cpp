#include "millrace/trainer/cli/evaluation_text.h"

#include <fmt/format.h>

#include "millrace/core/text.h"
#include "millrace/trainer/cli/json_events.h"
#include "millrace/trainer/cli/json_text.h"
#include "millrace/trainer/cli/number_format.h"
#include "millrace/trainer/cli/result_text.h"

namespace millrace::cli {

std::string evaluation_text(const EvaluationResult& result) {
  std::string out = fmt::format("{} of {} in {}", count_of(static_cast<int64_t>(result.rows), "row"),
                                count_of(static_cast<int64_t>(result.files), "file"), format_seconds(result.seconds));
  if (result.seconds > 0) {
    out += fmt::format(" ({} rows/s)", format_rate(static_cast<double>(result.rows) / result.seconds));
  }
  out += fmt::format("\nloss {}", format_value(result.loss));
  if (!result.metrics.empty()) out += cat("  ", metrics_text(result.metrics));
  return out + '\n';
}

std::string evaluation_event(const EvaluationResult& result) {
  JsonText json;
  json.open('{').key("v").value(1).key("event").value("evaluation").key("rows").value(result.rows);
  json.key("loss").value(result.loss);
  add_metrics(json, result.metrics);
  json.key("seconds").value(result.seconds).close('}');
  return json.text() + '\n';
}

}  // namespace millrace::cli
