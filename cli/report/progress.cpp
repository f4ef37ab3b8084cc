#include "millrace/cli/report/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include "millrace/cli/process/output.h"
#include "millrace/cli/process/terminal.h"
#include "millrace/cli/report/result_text.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace::cli {

namespace {

std::string line(std::string_view steps, const StepReport& report) {
  std::string out = fmt::format("step {}  epoch {}  loss {}", steps, report.epoch, format_value(report.loss));
  if (!report.metrics.empty()) out += cat("  ", metrics_text(report.metrics));
  out += fmt::format("  {} rows/s  input wait {}", format_rate(report.rows_per_s), format_share(report.input_wait));
  return out;
}

}  // namespace

std::string progress_line(const StepReport& report) { return line(std::to_string(report.step), report); }

std::string live_line(const StepReport& report, std::optional<int64_t> steps) {
  if (!steps) return progress_line(report);
  std::string at = cat(report.step, '/', *steps);
  if (report.step > 0 && report.step < *steps) {
    const double one = report.seconds / static_cast<double>(report.step);
    // Near the left edge, where a narrow terminal still shows it.
    at += cat("  ", format_seconds(one * static_cast<double>(*steps - report.step)), " left");
  }
  return line(at, report);
}

std::string validation_line(const ValidationReport& report) {
  std::string out = fmt::format("step {}  validation loss {}", report.step, format_value(report.loss));
  if (!report.metrics.empty()) out += cat("  ", metrics_text(report.metrics));
  out += cat("  ", count_of(static_cast<int64_t>(report.rows), "row"));
  if (report.best) out += "  best";
  return out;
}

void Progress::step(const StepReport& report) {
  if (style_ == ProgressStyle::lines) write_to_stderr(cat(progress_line(report), '\n'));
}

void Progress::live(const StepReport& report) {
  if (style_ != ProgressStyle::live) return;
  // A line as wide as the terminal would wrap and could not be wiped.
  const size_t width = terminal_width(STDERR_FILENO) - 1;
  write_to_stderr(cat('\r', cut_to_width(live_line(report, steps_), width), "\x1b[K"));
  shown_ = true;
}

void Progress::validation(const ValidationReport& report) { log(validation_line(report)); }

void Progress::log(std::string_view text) {
  if (style_ == ProgressStyle::none) return;
  clear();
  write_to_stderr(cat(escape_controls(text), '\n'));
}

void Progress::clear() {
  if (shown_) write_to_stderr("\r\x1b[K");
  shown_ = false;
}

}  // namespace millrace::cli
