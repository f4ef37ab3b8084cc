#include <fmt/format.h>

#include <algorithm>

#include "millrace/cli/compare/compare_text.h"
#include "millrace/cli/process/terminal.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace::cli {

namespace {

constexpr int kWidth = 860, kNames = 190, kBars = 520, kRow = 34, kBar = 20;
constexpr size_t kMostPoints = 400;
constexpr size_t kNameColumns = 26;
constexpr int kCurveHeight = 110, kCurveLeft = 40, kCurveWidth = 760;

constexpr const char* kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Deliveries compared</title>
<style>
:root { color-scheme: light dark; --ink: #1c2126; --soft: #5d6670; --line: #d5dae0; --paper: #ffffff;
  --step: #4271ae; --make: #d9730d; --wait: #b8bfc7; --copy: #8c5fb0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --soft: #9aa4ae; --line: #3a424a; --paper: #15191d;
  --step: #6f9fdc; --make: #f09a45; --wait: #59636d; --copy: #b58ad8; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 900px;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
p.setting, figcaption { color: var(--soft); }
div.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } th { color: var(--soft); font-weight: 600; }
code { font-size: .9em; } figure { margin: 1rem 0; } svg { width: 100%; height: auto; }
text { fill: var(--ink); font-size: 13px; } .soft { fill: var(--soft); } .axis { stroke: var(--line); }
.step { fill: var(--step); } .make { fill: var(--make); } .wait { fill: var(--wait); } .copy { fill: var(--copy); }
.bound { stroke: var(--ink); stroke-width: 2; } .curve { fill: none; stroke: var(--step); stroke-width: 1.5; }
.full { stroke: var(--soft); stroke-dasharray: 4 4; }
</style>
</head>
<body>
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : escape_controls(text)) {
    switch (letter) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += letter;
    }
  }
  return out;
}

std::string table(const Comparison& comparison) {
  std::string out =
      "<div class=\"wide\"><table>\n<thead><tr><th>delivery</th><th>ms a step</th><th>min</th><th>max</th>"
      "<th>rows/s</th><th>over feed</th><th>bound, ms</th><th>weights</th></tr></thead>\n<tbody>\n";
  for (const ComparedDelivery& delivery : comparison.deliveries) {
    const auto over = comparison.over_feed(delivery);
    out += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.0f}</td><td>{}</td><td>{}</td><td><code>{}</code></td>"
        "</tr>\n",
        escaped(delivery.name), format_milliseconds(delivery.step_seconds.median),
        format_milliseconds(delivery.step_seconds.min), format_milliseconds(delivery.step_seconds.max),
        delivery.rows_per_second, over ? fmt::format("{:.2f}x", *over) : "",
        delivery.bound_seconds ? format_milliseconds(*delivery.bound_seconds) : "", delivery.weights.substr(0, 8));
  }
  return out + "</tbody>\n</table></div>\n";
}

// A bar for each delivery, whose parts show where the time went, and a line at its bound.
std::string bars(const Comparison& comparison) {
  double longest = 0;
  for (const ComparedDelivery& delivery : comparison.deliveries) {
    longest = std::max({longest, delivery.step_seconds.median, delivery.bound_seconds.value_or(0)});
  }
  const int rows = static_cast<int>(comparison.deliveries.size());
  std::string out = fmt::format(
      "<figure><svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"milliseconds of a step by delivery\">\n", kWidth,
      rows * kRow + 34);
  int y = 0;
  for (const ComparedDelivery& delivery : comparison.deliveries) {
    out +=
        fmt::format("<text x=\"0\" y=\"{}\">{}</text>\n", y + 16, escaped(cut_to_width(delivery.name, kNameColumns)));
    double x = kNames;
    const auto part = [&](const char* what, double seconds) {
      const double width = std::max(0.0, seconds / longest * kBars);
      if (width < 0.05) return;
      out += fmt::format(
          "<rect class=\"{0}\" x=\"{1:.1f}\" y=\"{2}\" width=\"{3:.1f}\" height=\"{4}\"><title>{0} {5} "
          "ms</title></rect>\n",
          what, x, y, width, kBar, format_milliseconds(seconds));
      x += width;
    };
    part("make", delivery.make_seconds);
    part("wait", delivery.wait_seconds);
    part("copy", delivery.copy_seconds);
    part("step", delivery.step_only_seconds());
    const double bound = kNames + delivery.bound_seconds.value_or(0) / longest * kBars;
    if (delivery.bound_seconds) {
      out += fmt::format("<line class=\"bound\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>\n", bound, y - 2,
                         y + kBar + 2);
    }
    out += fmt::format("<text class=\"soft\" x=\"{:.1f}\" y=\"{}\">{} ms</text>\n", std::max(x, bound) + 8, y + 16,
                       format_milliseconds(delivery.step_seconds.median));
    y += kRow;
  }
  int x = kNames;
  for (const auto& [what, words] : {std::pair{"make", "making the batch"},
                                    {"wait", "waiting for it"},
                                    {"copy", "copying it"},
                                    {"step", "the step"}}) {
    out += fmt::format(
        "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"12\" height=\"12\"/><text x=\"{}\" y=\"{}\">{}</text>\n", what, x,
        y + 10, x + 17, y + 21, words);
    x += 140;
  }
  return out +
         "</svg>\n<figcaption>Where the time of a step goes, on the thread that trains; if others make batches "
         "meanwhile, " +
         "its step takes longer. The upright line is what the machine allows.</figcaption></figure>\n";
}

std::string curve(const ComparedDelivery& delivery) {
  const double capacity = static_cast<double>(std::max<int64_t>(delivery.capacity, 1));
  const auto height_of = [&](double queued) { return 10 + (kCurveHeight - 30) * (1 - queued / capacity); };
  std::string out = fmt::format(
      "<figure><svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"batches in the queue of {} over the steps\">\n",
      kWidth, kCurveHeight, escaped(delivery.name));
  const auto level = [&](const char* style, double queued) {
    out += fmt::format("<line class=\"{0}\" x1=\"{1}\" x2=\"{2}\" y1=\"{3:.1f}\" y2=\"{3:.1f}\"/>\n", style, kCurveLeft,
                       kCurveLeft + kCurveWidth, height_of(queued));
  };
  level("full", capacity);
  level("axis", 0);
  out += fmt::format(
      "<text class=\"soft\" x=\"{0}\" y=\"{1:.1f}\">{2}</text><text class=\"soft\" x=\"{0}\" y=\"{3:.1f}\">0</text>\n",
      12, height_of(capacity) + 4, delivery.capacity, height_of(0) + 4);
  std::string points;
  const double width =
      static_cast<double>(kCurveWidth) / std::max<double>(1, static_cast<double>(delivery.queued.size()));
  const size_t stride = delivery.queued.size() / kMostPoints + 1;
  for (size_t step = 0; step < delivery.queued.size(); step += stride) {
    const double y = height_of(static_cast<double>(delivery.queued[step]));
    const double x = kCurveLeft + width * static_cast<double>(step);
    points += fmt::format("{:.1f},{:.1f} {:.1f},{:.1f} ", x, y, x + width * static_cast<double>(stride), y);
  }
  out += fmt::format("<polyline class=\"curve\" points=\"{}\"/>\n", points);
  return out +
         fmt::format(
             "</svg>\n<figcaption>{}: batches that lay in the queue after each step of the last round, {:.1f} of {} "
             "on average.</figcaption></figure>\n",
             escaped(delivery.name), delivery.mean_queued.value_or(0), delivery.capacity);
}

}  // namespace

std::string compare_page(const Comparison& comparison) {
  std::string out = kHead;
  out += cat("<h1>How batches reach the step</h1>\n<p class=\"setting\">", escaped(compare_setting(comparison)),
             ". Millrace ", comparison.version, ".</p>\n<ul>\n");
  for (const std::string& verdict : compare_verdicts(comparison)) out += cat("<li>", escaped(verdict), "</li>\n");
  out += cat("</ul>\n<h2>Time</h2>\n", bars(comparison), table(comparison));
  out += fmt::format(
      "<p class=\"setting\">Medians over the rounds. Noise: {:.1f} %, by which {} differs from itself.</p>\n",
      100 * comparison.noise, escaped(comparison.noise_of));
  std::string curves;
  for (const ComparedDelivery& delivery : comparison.deliveries) {
    if (delivery.mean_queued) curves += curve(delivery);
  }
  if (!curves.empty()) out += "<h2>Queues</h2>\n" + curves;
  return out + "</body>\n</html>\n";
}

}  // namespace millrace::cli
