#include "millrace/cli/report/progress.h"

#include <fmt/format.h>

#include "millrace/cli/process/output.h"
#include "millrace/cli/report/result_text.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace::cli {

std::string progress_line(const StepReport& report, std::optional<int64_t> steps) {
  std::string out = cat("step ", report.step);
  if (steps) out += cat('/', *steps);
  if (steps && report.step > 0 && report.step < *steps) {
    const double one = report.seconds / static_cast<double>(report.step);
    // It stands near the left edge, so that a narrow terminal shows it.
    out += cat("  ", format_seconds(one * static_cast<double>(*steps - report.step)), " left");
  }
  return fmt::format("{}  epoch {}  {}  {} rows/s  input wait {}", out, report.epoch,
                     loss_text(report.loss, report.metrics), format_rate(report.rows_per_s),
                     format_share(report.input_wait));
}

std::string validation_line(const ValidationReport& report, std::string_view weight) {
  return cat("step ", report.step, "  validation ", loss_text(report.loss, report.metrics), "  ",
             count_of(static_cast<int64_t>(report.rows), "row"), weight.empty() ? "" : " weighted by ", weight,
             report.best ? "  best" : "");
}

void Progress::step(const StepReport& report) {
  if (style_ == ProgressStyle::lines) write_to_stderr(cat(progress_line(report), '\n'));
}

void Progress::live(const StepReport& report) {
  if (style_ == ProgressStyle::live) line_.overwrite(progress_line(report, steps_));
}

void Progress::validation(const ValidationReport& report) { log(validation_line(report, weight_)); }

void Progress::log(std::string_view text) {
  if (style_ == ProgressStyle::none) return;
  line_.clear();
  write_to_stderr(cat(escape_controls(text), '\n'));
}

}  // namespace millrace::cli
