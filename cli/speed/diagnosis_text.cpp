#include "millrace/cli/speed/diagnosis_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "millrace/cli/text/number_format.h"
#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

// Of less nobody wants to hear.
constexpr double kLeastShare = 0.01;

void add_number_or_text(JsonText& json, const std::string& text) {
  int64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty()) {
    json.null();
  } else if (end.ec == std::errc() && end.ptr == text.data() + text.size()) {
    json.value(number);
  } else {
    json.value(text);
  }
}

std::string held_text(const DeliveryStatistics& delivery) {
  std::string out;
  for (const OpStatistics& op : delivery.input.ops) {
    if (op.mean_held && op.capacity > 0) {
      // What waits is counted by whole chunks, and may be more than the rows that were asked for.
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

std::string busy_shares(const std::vector<OpStatistics>& ops) {
  double busy = 0;
  for (const OpStatistics& op : ops) busy += op.busy_seconds;
  std::vector<const OpStatistics*> shown;
  for (const OpStatistics& op : ops) {
    if (op.busy_seconds >= kLeastShare * busy && busy > 0) shown.push_back(&op);
  }
  std::stable_sort(shown.begin(), shown.end(),
                   [](const OpStatistics* a, const OpStatistics* b) { return a->busy_seconds > b->busy_seconds; });
  std::string out;
  for (const OpStatistics* op : shown) {
    out += cat(out.empty() ? "" : ", ", op->name, ' ', format_share(op->busy_seconds / busy));
  }
  return out;
}

std::string advice_text(const Advice& advice) {
  return cat("set ", advice.key, '=', advice.to, advice.from.empty() ? "" : cat(" (now ", advice.from, ')'), ": ",
             advice.why);
}

std::string diagnosis_text(const Diagnosis& diagnosis, const DeliveryStatistics& delivery) {
  const std::string shares = busy_shares(delivery.input.ops);
  if (shares.empty()) return {};
  std::string out = cat("input: ", format_share(diagnosis.input_share), " of the processors' time: ", shares, " of it",
                        held_text(delivery), '\n');
  if (!diagnosis.advice.empty()) {
    const Advice& advice = diagnosis.advice.front();
    out += fmt::format("advice: {}; about {:.1f} times as fast\n", advice_text(advice), advice.expected_gain);
  }
  return out;
}

void add_advice(JsonText& json, const Advice* advice) {
  if (advice == nullptr) {
    for (const char* key : {"key", "from", "to", "expected_gain"}) json.key(key).null();
    return;
  }
  json.key("key").value(advice->key);
  json.key("from");
  add_number_or_text(json, advice->from);
  json.key("to");
  add_number_or_text(json, advice->to);
  json.key("expected_gain").value(advice->expected_gain);
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
  json.key("op");
  diagnosis.op.empty() ? json.null() : json.value(diagnosis.op);
  const Advice* advice = diagnosis.advice.empty() ? nullptr : &diagnosis.advice.front();
  add_advice(json, advice);
  json.key("advice");
  advice == nullptr ? json.null() : json.value(advice_text(*advice));
}

}  // namespace millrace::cli
