#include "millrace/cli/report/result_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "millrace/cli/text/number_format.h"
#include "millrace/cli/text/text_layout.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace::cli {

namespace {

std::string counted(uint64_t count, std::string_view noun) { return count_of(static_cast<int64_t>(count), noun); }

// "accuracy 0.57  error 0.43".
std::string metrics_text(const MetricValues& metrics) {
  std::string out;
  for (const auto& [name, value] : metrics) out += cat(out.empty() ? "" : "  ", name, ' ', format_value(value));
  return out;
}

// "checkpoints: 4 written, 1 late; the newest is a/checkpoint-000000400.safetensors"; empty without checkpoints.
std::string checkpoints_text(const CheckpointSummary& summary) {
  if (summary.written == 0 && summary.failed == 0 && summary.file.empty()) return {};
  std::string out = cat("checkpoints: ", summary.written, " written");
  if (summary.late > 0) out += cat(", ", summary.late, " late, because another one was being written");
  if (summary.failed > 0) out += cat(", ", summary.failed, " failed (", escape_controls(summary.failure), ')');
  out += summary.file.empty() ? std::string("; there is none") : cat("; the newest is ", escape_controls(summary.file));
  return out + '\n';
}

bool beats_commonest_class(const EvaluationResult& result) {
  return std::none_of(result.metrics.begin(), result.metrics.end(), [&](const auto& one) {
    return one.first == "accuracy" && result.commonest_class && one.second <= *result.commonest_class;
  });
}

}  // namespace

std::string left_out_text(const InputSummary& input) {
  std::vector<std::string> items;
  for (const Dropped& dropped : input.dropped) {
    items.push_back(cat(counted(dropped.rows, "row"), " (", escape_controls(dropped.cause), ')'));
  }
  if (input.bad_rows > 0) items.push_back(counted(input.bad_rows, "bad row"));
  return cat("left out: ", items.empty() ? "nothing" : join(items, ", "));
}

std::string result_text(const TrainResult& result, std::string_view input) {
  std::string out =
      fmt::format("{}: {}, {}, {} in {}", result.reason, count_of(result.steps, "step"), counted(result.rows, "row"),
                  counted(result.epochs, "epoch"), format_seconds(result.seconds));
  // A run that went on did not train on all of these rows.
  if (result.resumed) {
    out += fmt::format(" (from step {} on, input wait {})", *result.resumed, format_share(result.input_wait));
  } else if (result.seconds > 0) {
    out += fmt::format(" ({} rows/s, input wait {})", format_rate(static_cast<double>(result.rows) / result.seconds),
                       format_share(result.input_wait));
  }
  if (result.resumed == result.steps && result.reason != "stopped") {
    out += "\nthe training was complete already: nothing was left to train";
  }
  if (result.last_batch > 0) {
    out += fmt::format("\nlast batch: {}", count_of(result.last_batch, "row"));
    out += cat(result.window ? "\nlast window: " : "  ", loss_text(result.loss, result.metrics));
  }
  if (result.skipped_steps > 0) {
    out += cat("\nskipped: ", count_of(result.skipped_steps, "step"), " in which something was not finite");
  }
  if (result.best) {
    out += fmt::format("\nbest: step {}  {} {}  (the model's parameters)", result.best->step, result.best->metric,
                       format_value(result.best->value));
  }
  out += cat('\n', input, left_out_text(result.input), "\nweights: ", result.weights, '\n');
  if (result.saved.empty()) {
    out += "model: not kept; --save FILE or the key save keeps it\n";
  } else {
    out += cat("model: ", escape_controls(result.saved), '\n');
  }
  if (!result.saved_last.empty()) {
    out += cat("last: ", escape_controls(result.saved_last), "  (the model of step ", result.steps, ")\n");
  }
  return out + checkpoints_text(result.checkpoints);
}

std::string result_text(const InputResult& result) {
  const InputSummary& input = result.input;
  std::string out = fmt::format(
      "{}: {}, {}, {} in {}", result.reason, input.batches == 1 ? "1 batch" : fmt::format("{} batches", input.batches),
      counted(input.rows, "row"), counted(input.passes, "epoch"), format_seconds(result.seconds));
  if (result.seconds > 0) {
    out += fmt::format(" ({} rows/s", format_rate(static_cast<double>(input.rows) / result.seconds));
    // A source that reads no files reports 0 bytes.
    const double bytes = static_cast<double>(input.bytes) / result.seconds;
    if (input.bytes > 0) out += fmt::format(", {}/s", format_bytes(static_cast<uint64_t>(bytes)));
    out += ')';
  }
  return out + '\n' + left_out_text(input) + '\n';
}

MetricValues in_label_unit(const MetricValues& metrics, const std::vector<NamedMetric>& kinds,
                           const FieldHistory& label) {
  MetricValues out;
  if (!label.complete || label.scale.size() != 1 || label.scale.front() == 1) return out;
  for (const NamedMetric& kind : kinds) {
    const int power = attributed(*kind.metric, &Metric::label_power);
    for (const auto& [name, value] : metrics) {
      if (power > 0 && name == kind.name)
        out.emplace_back(name, value * std::pow(std::abs(label.scale.front()), power));
    }
  }
  return out;
}

std::string evaluation_text(const EvaluationResult& result) {
  std::string out = counted(result.rows, "row");
  if (result.files > 0) out += cat(" of ", counted(result.files, "file"));
  out += cat(" in ", format_seconds(result.seconds));
  if (result.seconds > 0) {
    out += fmt::format(" ({} rows/s)", format_rate(static_cast<double>(result.rows) / result.seconds));
  }
  out += cat('\n', loss_text(result.loss, result.metrics));
  if (!result.weight.empty()) {
    out += cat("\nrows are weighted by ", escape_controls(result.weight), "; --set ", result.unweighted,
               " counts all alike");
  }
  if (!result.in_label_unit.empty()) out += cat("\nin the label's own unit: ", metrics_text(result.in_label_unit));
  if (!beats_commonest_class(result)) {
    out += cat("\nthe accuracy is no better than always naming the commonest class, which ",
               format_share(*result.commonest_class), " of the rows have");
  }
  return out + '\n';
}

std::string check_text(const CheckReport& report) {
  std::string out = fmt::format("input: batches of {}, {}\nmodel:\n", count_of(report.batch_size, "row"),
                                escape_controls(report.rows));
  std::string_view model = report.model;
  if (model.ends_with('\n')) model.remove_suffix(1);
  out += cat("  ", replaced(model, '\n', "\n  "), '\n');
  out += fmt::format("memory: at most {} ({} bytes){}\n", format_bytes(report.memory_bound), report.memory_bound,
                     report.varies ? ", without strings and ragged fields" : "");
  if (report.rows_read > 0) out += fmt::format("data: the first {} make sense\n", count_of(report.rows_read, "row"));
  for (const std::string& warning : report.warnings) out += cat("warning: ", escape_controls(warning), '\n');
  return out + "everything fits; nothing was trained\n";
}

std::string loss_text(double loss, const MetricValues& metrics) {
  return cat("loss ", format_value(loss), metrics.empty() ? "" : "  ", metrics_text(metrics));
}

}  // namespace millrace::cli
