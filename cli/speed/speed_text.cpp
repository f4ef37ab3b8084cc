#include "millrace/cli/speed/speed_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "millrace/cli/text/number_format.h"
#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

// Ops with a smaller share are not mentioned.
constexpr double kLeastShare = 0.01;
// Validations that take a smaller share of the time are not mentioned.
constexpr double kMuchValidation = 0.25;
// If the same training differs from itself by more, the other numbers say little.
constexpr double kNoisy = 0.2;

// "decode_csv 61%, csv_reader 39%": shares of the time that all ops together were busy.
std::string busy_shares(const std::vector<OpStatistics>& ops) {
  double busy = 0;
  for (const OpStatistics& op : ops) busy += op.busy_seconds;
  std::vector<const OpStatistics*> shown;
  for (const OpStatistics& op : ops) {
    if (op.busy_seconds >= kLeastShare * busy && busy > 0) shown.push_back(&op);
  }
  std::ranges::stable_sort(shown, std::greater(), [](const OpStatistics* op) { return op->busy_seconds; });
  std::string out;
  for (const OpStatistics* op : shown) {
    out += cat(out.empty() ? "" : ", ", op->name, ' ', format_share(op->busy_seconds / busy));
  }
  return out;
}

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

std::string serial_text(const Diagnosis& diagnosis) {
  if (diagnosis.serial_op.empty()) return {};
  return cat(diagnosis.serial_op,
             " inflates on one thread at a time; bgzip's files, zstd frames that tell their size, and several files "
             "with readers are read in parallel");
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
  if (const std::string serial = serial_text(report.diagnosis); !serial.empty()) return cat(out, ": ", serial);
  if (!report.op.empty()) out += cat(": ", report.op, " wants fewer or cheaper values, or more processors");
  return out;
}

std::string workers_text(const SpeedReport& report) {
  if (!report.workers) return {};
  if (*report.workers > 0) {
    return cat("workers: ", *report.workers == 1 ? "one machine" : cat("about ", *report.workers, " machines"),
               " like this one would decode as fast as the step goes (trainer worker)\n");
  }
  const bool input = report.bottleneck == Bottleneck::input;
  return cat("workers: they would not help: ",
             input ? cat(report.diagnosis.serial_op, " reads in order") : "the step hardly waits for the input", '\n');
}

std::string tried_text(const SpeedReport& report) {
  std::string out;
  for (const Advice& advice : report.tried) {
    out += fmt::format("{}{}={} {:.2f}x", out.empty() ? "tried: " : ", ", advice.key, advice.to, advice.expected_gain);
  }
  return out.empty() ? out : out + '\n';
}

// Adds the keys "key", "from", "to" and "expected_gain"; all are null without advice.
void add_advice(JsonText& json, const Advice* advice) {
  if (advice == nullptr) {
    for (const char* key : {"key", "from", "to", "expected_gain"}) json.key(key).null();
    return;
  }
  // The value with its type: a number becomes a number, an absent value null.
  const auto typed = [](const std::string& text) { return text.empty() ? Spec() : Spec::scalar(text, false, {}); };
  json.key("key").value(advice->key).key("from").value(typed(advice->from));
  json.key("to").value(typed(advice->to)).key("expected_gain").value(advice->expected_gain);
}

std::string held_text(const DeliveryStatistics& delivery) {
  std::string out;
  for (const OpStatistics& op : delivery.input.ops) {
    if (op.mean_held && op.capacity > 0) {
      // Whole chunks wait, so more rows may wait than were asked for.
      const bool more = *op.mean_held > static_cast<double>(op.capacity);
      out += fmt::format("; {:.0f}{} rows waited at {} on average{}", *op.mean_held,
                         more ? "" : fmt::format(" of {}", op.capacity), op.name,
                         more ? ", as chunks are that large" : "");
    }
  }
  if (delivery.mean_queued) {
    out += fmt::format("; the queue held {:.1f} of {} batches", *delivery.mean_queued, delivery.capacity);
  }
  return out;
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
             '\n', workers_text(report));
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
  json.key("op").text_or_null(report.op);
  add_advice(json, report.advice ? &*report.advice : nullptr);
  json.key("workers");
  report.workers ? json.value(*report.workers) : json.null();
  json.key("advice").value(advice_or_why_not(report)).key("tried").open('[');
  for (const Advice& advice : report.tried) {
    json.open('{');
    add_advice(json, &advice);
    json.close('}');
  }
  return json.close(']').line();
}

std::string advice_text(const Advice& advice) {
  return cat("set ", advice.key, '=', advice.to, advice.from.empty() ? "" : cat(" (now ", advice.from, ')'), ": ",
             advice.why);
}

std::string diagnosis_text(const Diagnosis& diagnosis, const DeliveryStatistics& delivery) {
  std::string out;
  if (const std::string shares = busy_shares(delivery.input.ops); !shares.empty()) {
    out = cat("input: ", format_share(diagnosis.input_share), " of the processors' time: ", shares, " of it",
              held_text(delivery), '\n');
  }
  if (diagnosis.validation_share >= kMuchValidation) {
    out += cat("validation: ", format_share(diagnosis.validation_share), " of the time\n");
  }
  if (const std::string serial = serial_text(diagnosis); !serial.empty()) out += cat("slow: ", serial, '\n');
  if (!diagnosis.advice.empty()) {
    const Advice& advice = diagnosis.advice.front();
    out += fmt::format("advice: {}; about {:.1f} times as fast\n", advice_text(advice), advice.expected_gain);
  }
  return out;
}

void add_diagnosis(JsonText& json, const Diagnosis& diagnosis, const DeliveryStatistics& delivery) {
  json.key("input").open('{').key("make").value(diagnosis.make_share).key("wait").value(diagnosis.wait_share);
  json.key("copy").value(diagnosis.copy_share).key("processors").value(diagnosis.input_share);
  json.key("queue_occupancy").value(delivery.mean_queued).key("ops").open('[');
  for (const OpStatistics& op : delivery.input.ops) {
    json.open('{').key("name").value(op.name).key("busy_s").value(op.busy_seconds);
    json.key("blocked_s").value(op.blocked_seconds).key("rows").value(op.rows).key("bytes").value(op.bytes);
    json.key("held").value(op.mean_held).key("capacity");
    op.mean_held ? json.value(op.capacity) : json.null();
    json.close('}');
  }
  json.close(']').close('}');
  json.key("validation").value(diagnosis.validation_share);
  json.key("bottleneck").value(OptionType<Bottleneck>::write(diagnosis.bottleneck).as_string());
  json.key("op").text_or_null(diagnosis.op);
  const Advice* advice = diagnosis.advice.empty() ? nullptr : &diagnosis.advice.front();
  add_advice(json, advice);
  json.key("advice").text_or_null(advice == nullptr ? std::string() : advice_text(*advice));
}

}  // namespace millrace::cli
