#include "millrace/cli/report/evaluation_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "millrace/cli/report/result_text.h"
#include "millrace/cli/text/json_text.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/core/text.h"

namespace millrace::cli {

MetricValues in_label_unit(const MetricValues& metrics, const std::vector<NamedMetric>& kinds,
                           const FieldHistory& label) {
  MetricValues out;
  if (!label.complete || label.scale.size() != 1 || label.scale.front() == 1) return out;
  for (const NamedMetric& kind : kinds) {
    const int power = kind.metric->label_power();
    for (const auto& [name, value] : metrics) {
      if (power > 0 && name == kind.name)
        out.emplace_back(name, value * std::pow(std::abs(label.scale.front()), power));
    }
  }
  return out;
}

namespace {

bool beats_commonest_class(const EvaluationResult& result) {
  return std::none_of(result.metrics.begin(), result.metrics.end(), [&](const auto& one) {
    return one.first == "accuracy" && result.commonest_class && one.second <= *result.commonest_class;
  });
}

}  // namespace

std::string evaluation_text(const EvaluationResult& result) {
  std::string out = count_of(static_cast<int64_t>(result.rows), "row");
  if (result.files > 0) out += cat(" of ", count_of(static_cast<int64_t>(result.files), "file"));
  out += cat(" in ", format_seconds(result.seconds));
  if (result.seconds > 0) {
    out += fmt::format(" ({} rows/s)", format_rate(static_cast<double>(result.rows) / result.seconds));
  }
  out += cat('\n', loss_text(result.loss, result.metrics));
  if (!result.in_label_unit.empty()) out += cat("\nin the label's own unit: ", metrics_text(result.in_label_unit));
  if (!beats_commonest_class(result)) {
    out += cat("\nthe accuracy is no better than always naming the commonest class, which ",
               format_share(*result.commonest_class), " of the rows have");
  }
  return out + '\n';
}

std::string evaluation_event(const EvaluationResult& result) {
  JsonText json = JsonText::event("evaluation");
  json.key("rows").value(result.rows).key("loss").value(result.loss).key("metrics").value(result.metrics);
  if (!result.in_label_unit.empty()) json.key("label_unit").value(result.in_label_unit);
  if (result.commonest_class) json.key("commonest_class").value(*result.commonest_class);
  return json.key("seconds").value(result.seconds).line();
}

}  // namespace millrace::cli
