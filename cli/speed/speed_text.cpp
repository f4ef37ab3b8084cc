#include "millrace/cli/speed/speed_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "millrace/cli/speed/diagnosis_text.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

// Where the same training differs from itself by so much, little else can be said.
constexpr double kNoisy = 0.2;

std::string spread(const Spread& of) {
  return fmt::format("{} ms  ({} .. {})", format_milliseconds(of.median), format_milliseconds(of.min),
                     format_milliseconds(of.max));
}

std::string bottleneck_text(const SpeedReport& report) {
  const double added = std::max(0.0, report.together.median / report.step.median - 1);
  const std::string more = fmt::format("the input makes a step {} longer", format_share(added));
  switch (report.bottleneck) {
    case Bottleneck::input: {
      const std::string op = busiest_op(report.ops);
      return cat("the input: ", more, op.empty() ? "" : cat(", most of all ", op));
    }
    case Bottleneck::step:
      return cat("the step: ", added > report.noise ? more : "the input costs less than the noise");
    case Bottleneck::none: return cat("none: step and input share the processors; ", more);
  }
  return {};
}

std::string advice_or_why_not(const SpeedReport& report) {
  if (report.advice) {
    return fmt::format("{}; measured: {:.2f} times as fast", advice_text(*report.advice), report.advice->expected_gain);
  }
  if (report.bottleneck == Bottleneck::step) {
    return cat("nothing in the input is worth changing; what would help is a smaller model",
               report.device == "cpu" ? ", more processors, or a GPU" : " or a faster GPU");
  }
  std::string out = report.tried.empty()
                        ? "no key that leaves the result as it is was worth trying"
                        : "none of the keys that were tried makes it faster by more than a tenth and the noise";
  if (!report.op.empty()) out += cat(": ", report.op, " wants fewer or cheaper values, or more processors");
  return out;
}

std::string tried_text(const SpeedReport& report) {
  std::string out;
  for (const Advice& advice : report.tried) {
    out += fmt::format("{}{}={} {:.2f}x", out.empty() ? "tried: " : ", ", advice.key, advice.to, advice.expected_gain);
  }
  return out.empty() ? out : out + '\n';
}

}  // namespace

std::string speed_text(const SpeedReport& report) {
  std::string out = fmt::format("{} on {}, batches of {}\n", report.device, count_of(report.threads, "thread"),
                                count_of(report.batch_size, "row"));
  out += fmt::format("input alone  {} ms a batch  ({} rows/s", format_milliseconds(report.batch_seconds()),
                     format_rate(report.input_rows_per_second));
  if (report.input_bytes_per_second > 0) {
    out += fmt::format(", {}/s", format_bytes(static_cast<uint64_t>(report.input_bytes_per_second)));
  }
  out += fmt::format(")\nstep alone   {}\ntogether     {}, noise {:.1f}%\n", spread(report.step),
                     spread(report.together), 100 * report.noise);
  if (const std::string shares = busy_shares(report.ops); !shares.empty()) {
    out += cat("input's time ", shares, '\n');
  }
  if (report.noise > kNoisy) out += "the machine is noisy: measure again when fewer other programs run on it\n";
  out += cat("bottleneck   ", bottleneck_text(report), '\n', tried_text(report), "advice: ", advice_or_why_not(report),
             '\n');
  return out;
}

std::string speed_json(const SpeedReport& report) {
  JsonText json;
  const auto ms = [&](const char* key, const Spread& of) {
    json.key(key).open('{').key("ms").open('{').key("median").value(of.median * kMilliseconds);
    json.key("min").value(of.min * kMilliseconds).key("max").value(of.max * kMilliseconds).close('}').close('}');
  };
  json.open('{').key("v").value(1).key("input").open('{').key("rows_per_s").value(report.input_rows_per_second);
  json.key("bytes_per_s").value(report.input_bytes_per_second).close('}');
  ms("step", report.step);
  ms("together", report.together);
  json.key("noise").value(report.noise).key("device").value(report.device).key("threads").value(report.threads);
  json.key("batch_size").value(report.batch_size);
  json.key("bottleneck").value(OptionType<Bottleneck>::write(report.bottleneck).as_string());
  json.key("op");
  report.op.empty() ? json.null() : json.value(report.op);
  add_advice(json, report.advice ? &*report.advice : nullptr);
  json.key("advice").value(advice_or_why_not(report)).key("tried").open('[');
  for (const Advice& advice : report.tried) {
    json.open('{');
    add_advice(json, &advice);
    json.close('}');
  }
  json.close(']').close('}');
  return json.text() + '\n';
}

}  // namespace millrace::cli
