#include "millrace/cli/speed/diagnosis.h"

#include <algorithm>
#include <functional>

#include "millrace/core/text.h"
#include "millrace/input/source.h"
#include "millrace/trainer/input/op_list.h"

namespace millrace {

namespace {

constexpr double kMuch = 0.5, kLittle = 0.1;
// If decoding is busy for this share of the wait, the step waits for decoding; else it waits for the source.
constexpr double kBusy = 0.7;
// A task reads about kBeyond bytes beyond its chunk, so chunks should be several times as long.
constexpr int64_t kBeyond = 10'000, kSmallChunk = 4 * kBeyond;
// A shorter run gives no advice.
constexpr double kTellingSeconds = 0.5;
constexpr int64_t kTellingSteps = 20;
// More threads are expected to help neither with a step that is shorter than kShortStep seconds, nor with the share
// kSerial of a longer one.
constexpr double kShortStep = 0.5e-3, kSerial = 0.1;

// A key that limits how many tasks decode at once.
struct Limit {
  std::string key;
  int64_t threads = 0;
};

// The limit of the delivery's queue, if it has one; else the highest limit of the ops, because they run as one task. At
// least one task runs for each source, or for each file that a source reads at the same time.
std::optional<Limit> limit_of(const Config& config, const OpRegistry& ops) {
  if (config.delivery.threads) return Limit{.key = "delivery.threads", .threads = *config.delivery.threads};
  std::optional<Limit> out;
  int64_t sources = 0;
  for_each_op(config.resolved, ops, [&](const ListedOp& op) {
    const auto* files = dynamic_cast<const FileSource*>(op.node.source);
    if (op.node.source != nullptr) sources += files != nullptr ? files->readers() : 1;
    const std::optional<int64_t> tasks = op.knob(OptionUse::tasks);
    if (tasks && (!out || *tasks >= out->threads)) out = Limit{.key = op.key(OptionUse::tasks), .threads = *tasks};
  });
  if (out) out->threads = std::max(out->threads, sources);
  return out;
}

class Diagnostician {
 public:
  Diagnostician(const Config& config, const OpRegistry& ops, const TrainResult& run, int processors)
      : config_(config), ops_(ops), run_(run), processors_(processors) {}

  Diagnosis diagnose() {
    if (seconds_ <= 0) return {};
    out_.make_share = times_.make_seconds / seconds_;
    out_.wait_share = times_.wait_seconds / seconds_;
    out_.copy_share = times_.copy_seconds / seconds_;
    double busy = 0;
    for (const OpStatistics& op : run_.delivery.input.ops) busy += op.busy_seconds;
    out_.input_share = std::min(1.0, busy / (seconds_ * run_.threads));
    out_.validation_share = run_.validation_seconds / run_.seconds;
    const double waits = times_.total() / seconds_;
    if (waits >= kMuch || out_.input_share >= kMuch) {
      out_.bottleneck = Bottleneck::input;
    } else if (waits < kLittle && out_.input_share < kMuch / 2) {
      out_.bottleneck = Bottleneck::step;
    }
    out_.op = busiest_op(run_.delivery.input.ops);
    for (const OpStatistics& op : run_.delivery.input.ops) {
      const bool limits = out_.bottleneck == Bottleneck::input && op.serial_seconds >= kBusy * times_.total();
      if (limits && times_.total() > 0) out_.serial_op = op.name;
    }
    if (seconds_ < kTellingSeconds || steps_ < kTellingSteps) return out_;
    advise_delivery();
    advise_limits(busy);
    advise_chunks();
    advise_threads();
    std::ranges::stable_sort(out_.advice, std::greater(), &Advice::expected_gain);
    if (!out_.advice.empty()) out_.op = op_of(out_.advice.front()).value_or(out_.op);
    return out_;
  }

 private:
  void advise(std::string key, std::string from, std::string to, double gain, std::string why) {
    if (gain < kWorthwhileGain) return;
    out_.advice.push_back({std::move(key), std::move(from), std::move(to), gain, std::move(why)});
  }

  // How many times as fast the training would be if its thread did not spend `seconds` on the input.
  double gain_without(double seconds) const { return seconds_ / std::max(seconds_ - seconds, 0.01 * seconds_); }

  // While the training thread makes a batch, the others have nothing to do. If all share the work, it takes less time.
  void advise_delivery() {
    if (config_.delivery.kind != DeliveryKind::feed) return;
    const double shared = times_.make_seconds / run_.threads;
    advise("delivery", "feed", "native", gain_without(times_.copy_seconds + times_.make_seconds - shared),
           cat("the training thread makes and copies every batch by itself",
               run_.threads > 1 ? ", while the others have nothing to do" : ""));
  }

  // While the step waits, as many tasks decode as the limit allows. More threads could help, unless the source is slow.
  void advise_limits(double busy) {
    if (config_.delivery.kind == DeliveryKind::feed) return;
    const std::optional<Limit> limit = limit_of(config_, ops_);
    if (!limit || limit->threads >= run_.threads) return;
    const auto tasks = static_cast<double>(limit->threads);
    if (busy < kBusy * tasks * times_.wait_seconds) return;
    const double idle = (run_.threads - tasks) / run_.threads;
    advise(limit->key, cat(limit->threads), cat(run_.threads), gain_without(times_.wait_seconds * idle),
           cat("at most ", count_of(limit->threads, "task"), " may decode at once, on ",
               count_of(run_.threads, "thread")));
  }

  // If chunks are short, tasks read most bytes only to complete the record at the end of a chunk.
  void advise_chunks() {
    if (out_.bottleneck != Bottleneck::input) return;
    for_each_op(config_.resolved, ops_, [&](const ListedOp& op) {
      const std::optional<int64_t> chunk = op.knob(OptionUse::chunk_bytes);
      const OptionInfo* info = option_of(op.node, OptionUse::chunk_bytes);
      if (!chunk || *chunk >= kSmallChunk || info->default_value.empty()) return;
      const double idle = static_cast<double>(kBeyond) / static_cast<double>(*chunk + kBeyond);
      advise(op.key(OptionUse::chunk_bytes), cat(*chunk), info->default_value, gain_without(times_.total() * idle),
             "a task also reads some 10 kB beyond its chunk, to the end of a record");
    });
  }

  void advise_threads() {
    if (run_.device != "cpu" || config_.threads == 0 || run_.threads >= processors_) return;
    // More threads do not help such short steps.
    if (seconds_ < kShortStep * static_cast<double>(steps_)) return;
    advise("threads", cat(run_.threads), "auto", 1 / (kSerial + (1 - kSerial) * run_.threads / processors_),
           cat("this process may use ", count_of(processors_, "processor")));
  }

  const Config& config_;
  const OpRegistry& ops_;
  const TrainResult& run_;
  const int processors_;
  const DeliveryTimes& times_ = run_.delivery.times;
  const double seconds_ = run_.seconds - run_.validation_seconds;
  const int64_t steps_ = run_.steps - run_.resumed.value_or(0);  // in these seconds
  Diagnosis out_;
};

}  // namespace

std::string busiest_op(const std::vector<OpStatistics>& ops) {
  const auto busiest = std::ranges::max_element(ops, {}, &OpStatistics::busy_seconds);
  return busiest == ops.end() ? std::string() : busiest->name;
}

std::optional<std::string> op_of(const Advice& advice) {
  constexpr std::string_view kInput = "input.";
  if (!advice.key.starts_with(kInput)) return std::nullopt;
  return advice.key.substr(kInput.size(), advice.key.rfind('.') - kInput.size());
}

Diagnosis diagnose(const Config& config, const OpRegistry& ops, const TrainResult& run, int processors) {
  return Diagnostician(config, ops, run, processors).diagnose();
}

}  // namespace millrace
