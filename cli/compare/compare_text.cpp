#include "millrace/cli/compare/compare_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "millrace/cli/text/json_text.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace::cli {

namespace {

// With fewer rounds, the noise is not reliable.
constexpr int64_t kTellingRounds = 3;

std::string ratio_text(const std::optional<double>& ratio) { return ratio ? fmt::format("{:.2f}x", *ratio) : "-"; }

std::string shown_name(const ComparedDelivery& delivery) { return escape_controls(delivery.name); }

// The width of a column of names under this heading.
size_t name_width(const Comparison& comparison, std::string_view heading) {
  size_t width = heading.size();
  for (const ComparedDelivery& delivery : comparison.deliveries) width = std::max(width, shown_name(delivery).size());
  return width;
}

// Whether the difference is larger than the noise.
bool differs(const Comparison& comparison, double ratio) { return std::abs(ratio - 1) > comparison.noise; }

std::optional<double> of_bound(const ComparedDelivery& delivery) {
  if (!delivery.bound_seconds || delivery.kind == DeliveryKind::constant) return std::nullopt;
  return delivery.step_seconds.median / *delivery.bound_seconds;
}

std::string deliveries_table(const Comparison& comparison) {
  constexpr std::string_view kHeading = "delivery";
  const size_t width = name_width(comparison, kHeading);
  std::string out =
      fmt::format("{:<{}}  ms a step  (min .. max)        rows/s  over feed  of its bound  weights\n", kHeading, width);
  for (const ComparedDelivery& delivery : comparison.deliveries) {
    const Spread& step = delivery.step_seconds;
    out += fmt::format("{:<{}}  {:>9}  {:<18}  {:>7.0f}  {:>9}  {:>12}  {}\n", shown_name(delivery), width,
                       format_milliseconds(step.median),
                       cat('(', format_milliseconds(step.min), " .. ", format_milliseconds(step.max), ')'),
                       delivery.rows_per_second, ratio_text(comparison.over_feed(delivery)),
                       ratio_text(of_bound(delivery)), delivery.weights.substr(0, 8));
  }
  return out;
}

std::string times_table(const Comparison& comparison) {
  constexpr std::string_view kHeading = "ms of each step";
  const size_t width = name_width(comparison, kHeading);
  std::string out = fmt::format("{:<{}}  making  waiting  copying    step  batches queued\n", kHeading, width);
  for (const ComparedDelivery& delivery : comparison.deliveries) {
    const std::string queued =
        delivery.mean_queued ? fmt::format("{:.1f} of {}", *delivery.mean_queued, delivery.capacity) : "-";
    out += fmt::format("{:<{}}  {:>6.2f}  {:>7.2f}  {:>7.2f}  {:>6.2f}  {}\n", shown_name(delivery), width,
                       delivery.make_seconds * kMilliseconds, delivery.wait_seconds * kMilliseconds,
                       delivery.copy_seconds * kMilliseconds, delivery.step_only_seconds() * kMilliseconds, queued);
  }
  return out;
}

std::string weights_verdict(const Comparison& comparison) {
  std::vector<std::string> same;
  std::string weights;
  for (const ComparedDelivery& delivery : comparison.deliveries) {
    if (!delivery.same_training) continue;
    same.push_back(shown_name(delivery));
    if (weights.empty()) weights = delivery.weights;
  }
  if (same.size() < 2) return {};
  if (!comparison.equal_weights()) return cat(join(same), " did NOT end with the same weights: this is a bug");
  return cat(join(same), " trained the same model: weights ", weights);
}

std::string feed_verdict(const Comparison& comparison) {
  const ComparedDelivery* feed = comparison.find(DeliveryKind::feed, comparison.batch_size);
  const ComparedDelivery* native = comparison.find(DeliveryKind::native, comparison.batch_size);
  if (feed == nullptr || native == nullptr) return {};
  if (comparison.rounds < kTellingRounds) return "so few rounds do not say which is faster: set compare.rounds=5";
  const double ratio = native->rows_per_second / feed->rows_per_second;
  if (!differs(comparison, ratio)) {
    return fmt::format("native and feed differ by less than the noise: making a batch takes {} ms of a step",
                       format_milliseconds(feed->make_seconds));
  }
  if (ratio < 1) return fmt::format("feed is {:.2f} times as fast as native", 1 / ratio);
  std::string out = fmt::format("native is {:.2f} times as fast as feed, ", ratio);
  if (comparison.threads == 1)
    return out + fmt::format("which copies every batch for {} ms", format_milliseconds(feed->copy_seconds));
  return out +
         fmt::format(
             "whose thread makes a batch for {} ms and copies it for {} ms in every step, while the other threads "
             "have nothing to do",
             format_milliseconds(feed->make_seconds), format_milliseconds(feed->copy_seconds));
}

// Names the deliveries that are as fast as native, but for the noise.
std::string equal_verdict(const Comparison& comparison) {
  const ComparedDelivery* native = comparison.find(DeliveryKind::native, comparison.batch_size);
  if (native == nullptr || comparison.rounds < kTellingRounds) return {};
  std::vector<std::string> equal;
  for (const ComparedDelivery& delivery : comparison.deliveries) {
    if (&delivery == native || delivery.kind == DeliveryKind::constant || delivery.kind == DeliveryKind::feed) continue;
    const double ratio = delivery.rows_per_second / native->rows_per_second;
    if (delivery.same_training && !differs(comparison, ratio)) equal.push_back(shown_name(delivery));
  }
  if (equal.empty()) return {};
  return cat(join(equal), equal.size() > 1 ? " differ" : " differs", " from native by less than the noise");
}

std::string bound_verdict(const Comparison& comparison) {
  const ComparedDelivery* native = comparison.find(DeliveryKind::native, comparison.batch_size);
  const ComparedDelivery* alone = comparison.find(DeliveryKind::constant, comparison.batch_size);
  if (native == nullptr || alone == nullptr || comparison.input_rows != comparison.batch_size) return {};
  return fmt::format(
      "a step alone takes {} ms, a batch {} ms of one thread: with {} native could take {} ms at best, and takes "
      "{:.2f} "
      "times that",
      format_milliseconds(alone->step_seconds.median), format_milliseconds(comparison.input_seconds),
      count_of(comparison.threads, "thread"), format_milliseconds(*native->bound_seconds), *of_bound(*native));
}

}  // namespace

std::string compare_setting(const Comparison& comparison) {
  return cat(count_of(comparison.steps, "step"), " of ", count_of(comparison.batch_size, "row"), " on ",
             comparison.device == "cpu" ? "" : cat(comparison.device, " and "), count_of(comparison.threads, "thread"),
             " of ", escape_controls(comparison.processor), ": ", count_of(comparison.rounds, "round"), ", the first ",
             count_of(comparison.warm_up, "step"), " of each training not timed");
}

std::vector<std::string> compare_verdicts(const Comparison& comparison) {
  std::vector<std::string> out;
  for (std::string verdict :
       {weights_verdict(comparison), feed_verdict(comparison), equal_verdict(comparison), bound_verdict(comparison)}) {
    if (!verdict.empty()) out.push_back(std::move(verdict));
  }
  return out;
}

std::string compare_text(const Comparison& comparison) {
  std::string out = cat(compare_setting(comparison), "\n\n", deliveries_table(comparison));
  out += fmt::format("noise: {:.1f} % ({} against itself)\n\n", 100 * comparison.noise, comparison.noise_of);
  out += times_table(comparison) + '\n';
  for (const std::string& verdict : compare_verdicts(comparison)) out += cat("- ", verdict, '\n');
  return out;
}

std::string compare_json(const Comparison& comparison) {
  JsonText json;
  json.open('{').key("v").value(1);
  json.key("machine").open('{').key("processor").value(comparison.processor);
  json.key("processors").value(comparison.processors).key("threads").value(comparison.threads);
  json.key("device").value(comparison.device).key("millrace").value(comparison.version).close('}');
  json.key("batch_size").value(comparison.batch_size).key("steps").value(comparison.steps);
  json.key("warm_up").value(comparison.warm_up).key("rounds").value(comparison.rounds);
  json.key("input_ms").value(comparison.input_seconds * kMilliseconds);
  json.key("deliveries").open('[');
  for (const ComparedDelivery& delivery : comparison.deliveries) {
    const auto ms = [&](const char* key, double seconds) { json.key(key).value(seconds * kMilliseconds); };
    json.open('{').key("name").value(delivery.name);
    json.key("kind").value(OptionType<DeliveryKind>::write(delivery.kind).as_string());
    json.key("batch_size").value(delivery.batch_size).key("ms_per_step").open('{');
    ms("median", delivery.step_seconds.median);
    ms("min", delivery.step_seconds.min);
    ms("max", delivery.step_seconds.max);
    json.close('}').key("rows_per_s").value(delivery.rows_per_second).key("input_wait").value(delivery.input_wait);
    ms("processor_ms", delivery.processor_seconds);
    ms("make_ms", delivery.make_seconds);
    ms("wait_ms", delivery.wait_seconds);
    ms("copy_ms", delivery.copy_seconds);
    json.key("bound_ms");
    delivery.bound_seconds ? json.value(*delivery.bound_seconds * kMilliseconds) : json.null();
    json.key("queue_occupancy").value(delivery.mean_queued);
    json.key("queue_capacity");
    delivery.mean_queued ? json.value(delivery.capacity) : json.null();
    json.key("weights").value(delivery.weights).key("same_training").value(delivery.same_training).close('}');
  }
  json.close(']').key("speedup_over_feed").open('{');
  for (const ComparedDelivery& delivery : comparison.deliveries) {
    if (const auto ratio = comparison.over_feed(delivery)) json.key(delivery.name).value(*ratio);
  }
  json.close('}').key("noise").value(comparison.noise).key("equal_weights").value(comparison.equal_weights());
  return json.key("verdicts").value(compare_verdicts(comparison)).line();
}

}  // namespace millrace::cli
