#include "millrace/cli/report/result_text.h"

#include <fmt/format.h>

#include "millrace/cli/text/number_format.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace::cli {

namespace {

std::string counted(uint64_t count, std::string_view noun) { return count_of(static_cast<int64_t>(count), noun); }

// "left out: 8 rows (last partial batch), 2 bad rows"; or "left out: nothing".
std::string left_out_text(const InputSummary& input) {
  std::string out;
  const auto add = [&out](const std::string& item) {
    out += out.empty() ? "left out: " : ", ";
    out += item;
  };
  for (const Dropped& dropped : input.dropped) {
    add(fmt::format("{} ({})", counted(dropped.rows, "row"), escape_controls(dropped.cause)));
  }
  if (input.bad_rows > 0) add(counted(input.bad_rows, "bad row"));
  return out.empty() ? "left out: nothing" : out;
}

}  // namespace

std::string result_text(const TrainResult& result, std::string_view input) {
  std::string out =
      fmt::format("{}: {}, {}, {} in {}", result.reason, count_of(result.steps, "step"), counted(result.rows, "row"),
                  counted(result.epochs, "epoch"), format_seconds(result.seconds));
  if (result.seconds > 0) {
    out += fmt::format(" ({} rows/s, input wait {})", format_rate(static_cast<double>(result.rows) / result.seconds),
                       format_share(result.input_wait));
  }
  if (result.last_batch > 0) {
    out += fmt::format("\nlast batch: {}", count_of(result.last_batch, "row"));
    out += cat(result.window ? "\nlast window: " : "  ", loss_text(result.loss, result.metrics));
  }
  if (result.skipped_steps > 0) {
    out += cat("\nskipped: ", count_of(result.skipped_steps, "step"), " whose loss or gradient was not finite");
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
  return out;
}

std::string result_text(const InputResult& result) {
  const InputSummary& input = result.input;
  std::string out = fmt::format(
      "{}: {}, {}, {} in {}", result.reason, input.batches == 1 ? "1 batch" : fmt::format("{} batches", input.batches),
      counted(input.rows, "row"), counted(input.passes, "epoch"), format_seconds(result.seconds));
  if (result.seconds > 0) {
    out += fmt::format(" ({} rows/s", format_rate(static_cast<double>(input.rows) / result.seconds));
    // A source without files tells of no bytes.
    const double bytes = static_cast<double>(input.bytes) / result.seconds;
    if (input.bytes > 0) out += fmt::format(", {}/s", format_bytes(static_cast<uint64_t>(bytes)));
    out += ')';
  }
  return out + '\n' + left_out_text(input) + '\n';
}

std::string metrics_text(const MetricValues& metrics) {
  std::string out;
  for (const auto& [name, value] : metrics) {
    if (!out.empty()) out += "  ";
    out += name + ' ' + format_value(value);
  }
  return out;
}

std::string loss_text(double loss, const MetricValues& metrics) {
  return cat("loss ", format_value(loss), metrics.empty() ? "" : "  ", metrics_text(metrics));
}

}  // namespace millrace::cli
