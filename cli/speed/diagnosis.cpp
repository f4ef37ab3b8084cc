#include "millrace/cli/speed/diagnosis.h"

#include <algorithm>

#include "millrace/core/text.h"
#include "millrace/core/threads/executor.h"
#include "millrace/input/source.h"
#include "millrace/trainer/input/op_list.h"

namespace millrace {

namespace {

constexpr double kMuch = 0.5, kLittle = 0.1;
constexpr double kMuchValidation = 0.25;
// Decoding is what is waited for where its tasks are busy for so much of the wait.
constexpr double kBusy = 0.7;
// What a task reads beyond its chunk, about; so chunks should be longer than a few times that.
constexpr int64_t kBeyond = 10'000, kSmallChunk = 4 * kBeyond;
// What more threads are expected not to help with: seconds of a step, and the share of a longer one.
constexpr double kShortStep = 0.5e-3, kSerial = 0.1;

// A key that limits how many tasks decode at once; `op` is empty where it is no op's.
struct Limit {
  std::string op, key;
  int64_t threads = 0;
};

// What limits the ops: the one that allows most speaks for all of them, as they run as one task. Whatever it says,
// every source has a task, and every file that it reads at once.
std::optional<Limit> limit_of_ops(const Config& config, const OpRegistry& ops) {
  std::optional<Limit> out;
  int64_t sources = 0;
  for_each_op(config.resolved, ops, [&](const ListedOp& op) {
    const auto* files = dynamic_cast<const FileSource*>(op.node.source);
    if (op.node.source != nullptr) sources += files != nullptr ? files->readers() : 1;
    const std::optional<int64_t> tasks = op.number(OptionUse::tasks);
    if (!tasks || (out && *tasks < out->threads)) return;
    out = Limit{.op = op.node.name, .key = op.key(OptionUse::tasks), .threads = *tasks};
  });
  if (out) out->threads = std::max(out->threads, sources);
  return out;
}

// The delivery's queue overrules the ops.
std::optional<Limit> limit_of(const Config& config, const OpRegistry& ops) {
  if (!config.delivery.threads) return limit_of_ops(config, ops);
  return Limit{.op = {}, .key = "delivery.threads", .threads = *config.delivery.threads};
}

class Diagnostician {
 public:
  Diagnostician(const Config& config, const OpRegistry& ops, const RunFacts& facts)
      : config_(config), ops_(ops), facts_(facts), times_(facts.delivery.times) {}

  Diagnosis diagnose() {
    Diagnosis out;
    if (facts_.seconds <= 0) return out;
    out.make_share = times_.make_seconds / facts_.seconds;
    out.wait_share = times_.wait_seconds / facts_.seconds;
    out.copy_share = times_.copy_seconds / facts_.seconds;
    double busy = 0;
    for (const OpStatistics& op : facts_.delivery.input.ops) busy += op.busy_seconds;
    out.input_share = std::min(1.0, busy / (facts_.seconds * facts_.threads));
    out.validation_share = facts_.validation_seconds / (facts_.seconds + facts_.validation_seconds);
    const double waits = times_.total() / facts_.seconds;
    if (waits >= kMuch || out.input_share >= kMuch) {
      out.bottleneck = Bottleneck::input;
    } else if (waits < kLittle && out.input_share < kMuch / 2) {
      out.bottleneck = Bottleneck::step;
    }
    out.op = busiest_op(facts_.delivery.input.ops);
    if (facts_.seconds < kTellingSeconds || facts_.steps < kTellingSteps) return out;
    advise_delivery();
    advise_limits(busy);
    advise_chunks(out.bottleneck);
    advise_threads();
    advise_validation(out);
    std::erase_if(advice_, [](const Advice& one) { return one.expected_gain < kWorthwhileGain; });
    std::stable_sort(advice_.begin(), advice_.end(),
                     [](const Advice& a, const Advice& b) { return a.expected_gain > b.expected_gain; });
    out.advice = std::move(advice_);
    if (!out.advice.empty()) out.op = op_of(out.advice.front()).value_or(out.op);
    return out;
  }

 private:
  // How many times as fast it would be if the thread that trains did not spend `seconds` on the input.
  double gain_without(double seconds) const {
    const double left = std::max(facts_.seconds - seconds, 0.01 * facts_.seconds);
    return facts_.seconds / left;
  }

  // While one thread makes a batch the others have nothing to do; shared out, it takes a share of the time.
  void advise_delivery() {
    if (config_.delivery.kind != DeliveryKind::feed) return;
    const double shared = times_.make_seconds / facts_.threads;
    advice_.push_back({.key = "delivery",
                       .from = "feed",
                       .to = "native",
                       .expected_gain = gain_without(times_.copy_seconds + times_.make_seconds - shared),
                       .why = cat("the training thread makes and copies every batch by itself",
                                  facts_.threads > 1 ? ", while the others have nothing to do" : "")});
  }

  // While the step waits, as many tasks decode as may; other threads could help, unless the source is what is slow.
  void advise_limits(double busy) {
    if (config_.delivery.kind == DeliveryKind::feed) return;
    const std::optional<Limit> limit = limit_of(config_, ops_);
    if (!limit || limit->threads >= facts_.threads) return;
    const auto tasks = static_cast<double>(limit->threads);
    if (busy < kBusy * tasks * times_.wait_seconds) return;
    const double idle = (facts_.threads - tasks) / facts_.threads;
    advice_.push_back({.key = limit->key,
                       .from = cat(limit->threads),
                       .to = cat(facts_.threads),
                       .expected_gain = gain_without(times_.wait_seconds * idle),
                       .why = cat("at most ", count_of(limit->threads, "task"), " may decode at once, on ",
                                  count_of(facts_.threads, "thread"))});
  }

  // Where chunks are short, most of what is read is read for the sake of the record at their end.
  void advise_chunks(Bottleneck bottleneck) {
    if (bottleneck != Bottleneck::input) return;
    for_each_op(config_.resolved, ops_, [&](const ListedOp& op) {
      const std::optional<int64_t> chunk = op.number(OptionUse::chunk_bytes);
      const OptionInfo* info = option_of(op.node, OptionUse::chunk_bytes);
      if (!chunk || *chunk >= kSmallChunk || info->default_value.empty()) return;
      const double idle = static_cast<double>(kBeyond) / static_cast<double>(*chunk + kBeyond);
      advice_.push_back({.key = op.key(OptionUse::chunk_bytes),
                         .from = cat(*chunk),
                         .to = info->default_value,
                         .expected_gain = gain_without(times_.total() * idle),
                         .why = "a task also reads some 10 kB beyond its chunk, to the end of a record"});
    });
  }

  void advise_threads() {
    if (!facts_.on_cpu || config_.threads == 0 || facts_.threads >= facts_.processors) return;
    // What is that short is cut into no pieces.
    if (facts_.seconds < kShortStep * static_cast<double>(facts_.steps)) return;
    advice_.push_back({.key = "threads",
                       .from = cat(facts_.threads),
                       .to = "auto",
                       .expected_gain = 1 / (kSerial + (1 - kSerial) * facts_.threads / facts_.processors),
                       .why = cat("this process may use ", count_of(facts_.processors, "processor"))});
  }

  // It changes which model is kept, but not the training.
  void advise_validation(const Diagnosis& found) {
    if (!config_.validation || found.validation_share < kMuchValidation) return;
    constexpr int64_t kRarer = 10;
    const int64_t every = config_.validation->every;
    const double rest = found.validation_share * (1 - 1.0 / kRarer);
    advice_.push_back({.key = "validation.every",
                       .from = cat(every),
                       .to = cat(every * kRarer),
                       .expected_gain = 1 / (1 - rest),
                       .why = "the run spends much of its time on validations"});
  }

  const Config& config_;
  const OpRegistry& ops_;
  const RunFacts& facts_;
  const DeliveryTimes& times_;
  std::vector<Advice> advice_;
};

}  // namespace

std::string busiest_op(const std::vector<OpStatistics>& ops) {
  const auto busiest = std::max_element(ops.begin(), ops.end(), [](const OpStatistics& a, const OpStatistics& b) {
    return a.busy_seconds < b.busy_seconds;
  });
  return busiest == ops.end() ? std::string() : busiest->name;
}

std::optional<std::string> op_of(const Advice& advice) {
  constexpr std::string_view kInput = "input.";
  if (!advice.key.starts_with(kInput)) return std::nullopt;
  return advice.key.substr(kInput.size(), advice.key.rfind('.') - kInput.size());
}

RunFacts facts_of(const TrainResult& result) {
  return {.seconds = result.seconds - result.validation_seconds,
          .validation_seconds = result.validation_seconds,
          .steps = result.steps,
          .threads = result.threads,
          .processors = Executor::available_threads(),
          .on_cpu = result.device == "cpu",
          .delivery = result.delivery};
}

Diagnosis diagnose(const Config& config, const OpRegistry& ops, const RunFacts& facts) {
  return Diagnostician(config, ops, facts).diagnose();
}

}  // namespace millrace
