#include "millrace/cli/compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <numeric>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/executor.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/input/build_input.h"
#include "millrace/trainer/input/op_list.h"
#include "millrace/version.h"

namespace millrace {

namespace {

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  return "a processor without a name";
}

// Batches that tell what one takes.
constexpr int64_t kInputBatches = 200;

// The key that decides how large the batches of the input are; empty: there is none.
std::string batch_rows_key(const Spec& config, const OpRegistry& ops) {
  std::string out;
  for_each_op(config, ops, [&](const ListedOp& op) {
    if (option_of(op.node, OptionUse::batch_rows) != nullptr) out = op.key(OptionUse::batch_rows);
  });
  return out;
}

// Its kind, with what is said of it besides.
std::string name_of(const CompareItem& item, DeliveryKind kind) {
  if (!item.name.empty()) return item.name;
  std::vector<std::string> details;
  const auto add = [&](const char* what, const std::optional<int64_t>& value) {
    if (value) details.push_back(cat(what, ' ', *value));
  };
  add("capacity", item.delivery.capacity);
  add("threads", item.delivery.threads);
  add("batches of", item.batch_size);
  return cat(OptionType<DeliveryKind>::write(kind).as_string(),
             details.empty() ? "" : cat(" (", join(details, ", "), ')'));
}

}  // namespace

// One delivery, and what its trainings came to.
struct Contestant {
  ComparedDelivery result;
  Spec config;
  std::vector<double> steps, processors, makes, waits, copies;  // by round, seconds of a step
};

bool Comparison::equal_weights() const {
  const ComparedDelivery* first = nullptr;
  for (const ComparedDelivery& delivery : deliveries) {
    if (!delivery.same_training) continue;
    if (first == nullptr) first = &delivery;
    if (delivery.weights != first->weights) return false;
  }
  return true;
}

const ComparedDelivery* Comparison::find(DeliveryKind kind, int64_t rows) const {
  const auto found = std::find_if(deliveries.begin(), deliveries.end(), [=](const ComparedDelivery& delivery) {
    return delivery.kind == kind && delivery.batch_size == rows;
  });
  return found == deliveries.end() ? nullptr : &*found;
}

std::optional<double> Comparison::over_feed(const ComparedDelivery& delivery) const {
  const auto feed = std::find_if(deliveries.begin(), deliveries.end(),
                                 [](const ComparedDelivery& one) { return one.kind == DeliveryKind::feed; });
  if (feed == deliveries.end()) return std::nullopt;
  return delivery.rows_per_second / feed->rows_per_second;
}

struct Comparer::Impl {
  Impl(const Spec& config, const Catalog& catalog);

  std::optional<Comparison> compare(const CompareCallbacks& callbacks);
  bool train(Contestant& contestant, bool timed);
  double input_seconds();
  void finish();
  void find_bounds();
  ConfigError nothing_to_time(int64_t steps) const;

  const Catalog catalog;
  const Spec written;
  CompareOptions options;
  InputFiles files;
  std::vector<Contestant> contestants;
  size_t repeated = 0;         // the one that runs twice in a round
  std::vector<double> again;   // its second run of each round
  std::vector<double> inputs;  // of each round
  Comparison out;
  TimedTraining training;
};

Comparer::Impl::Impl(const Spec& config, const Catalog& given) : catalog(given), written(config), training(catalog) {
  const Config read = read_config(config, catalog);
  options = read.compare.value_or(CompareOptions());
  const Spec base = for_timing(config);
  for (const CompareItem& item : options.deliveries) {
    Contestant& contestant = contestants.emplace_back();
    contestant.config = base;
    contestant.config.set("delivery", OptionType<DeliveryOptions>::write(item.delivery));
    if (item.batch_size) {
      const std::string key = batch_rows_key(base, catalog.ops);
      if (key.empty()) throw read.node("compare").error("no op of the input has a key for the size of batches");
      apply_override(contestant.config, cat(key, '=', *item.batch_size));
    }
    ComparedDelivery& result = contestant.result;
    result.kind = item.delivery.kind == DeliveryKind::automatic ? DeliveryKind::native : item.delivery.kind;
    result.name = name_of(item, result.kind);
    if (item.delivery.has_queue()) result.capacity = item.delivery.capacity.value_or(DeliveryOptions::kCapacity);
    const Trainer trainer = Trainer::from_spec(contestant.config, catalog);
    if (trainer.input().reads_once()) {
      throw read.node("input").error("a comparison reads the data of every training anew, and these come once",
                                     "write them to a file first");
    }
    result.batch_size = trainer.input().output().batch_size;
    files = trainer.input().files();
    if (!item.batch_size) out.batch_size = result.batch_size;
  }
  for (size_t i = 0; i < contestants.size(); ++i) {
    for (size_t other = 0; other < i; ++other) {
      if (contestants[i].result.name != contestants[other].result.name) continue;
      throw read.node("compare").error(cat("two deliveries are called ", quote(contestants[i].result.name)),
                                       "give each a name of its own: {kind: .., name: ..}");
    }
  }
  if (out.batch_size == 0) out.batch_size = contestants.front().result.batch_size;
  for (Contestant& contestant : contestants) {
    ComparedDelivery& result = contestant.result;
    result.same_training = result.kind != DeliveryKind::constant && result.batch_size == out.batch_size;
  }
  const auto is_native = [](const Contestant& one) { return one.result.kind == DeliveryKind::native; };
  const auto native = std::find_if(contestants.begin(), contestants.end(), is_native);
  repeated = native == contestants.end() ? 0 : static_cast<size_t>(native - contestants.begin());
  out.steps = read.train.steps.value_or(0);
  if (read.train.steps && out.steps <= options.warm_up) throw nothing_to_time(out.steps);
}

ConfigError Comparer::Impl::nothing_to_time(int64_t steps) const {
  const Spec* node = written.find("compare");
  return (node == nullptr ? written : *node)
      .error(cat("the training has ", count_of(steps, "step"), ", and the first ", options.warm_up, " are not timed"),
             "set train.steps, give it more data, or lower compare.warm_up");
}

// Trains with `contestant`; false after stop().
bool Comparer::Impl::train(Contestant& contestant, bool timed) {
  ComparedDelivery& result = contestant.result;
  if (out.steps > 0) apply_override(contestant.config, cat("train.steps=", out.steps));
  const TimedRun run = training.run(contestant.config, {.warm_up = options.warm_up});
  if (run.stopped) return false;
  if (run.timed == 0) throw nothing_to_time(run.steps);
  if (out.steps == 0) out.steps = run.steps;
  result.weights = run.result.weights;
  out.device = run.start.device;
  out.threads = run.start.threads;
  if (!timed) return true;
  const auto steps = static_cast<double>(run.timed);
  contestant.steps.push_back(run.step_seconds());
  contestant.processors.push_back(run.processor_seconds / steps);
  contestant.makes.push_back(run.times.make_seconds / steps);
  contestant.waits.push_back(run.times.wait_seconds / steps);
  contestant.copies.push_back(run.times.copy_seconds / steps);
  if (run.result.delivery.mean_queued) result.queued = run.queued;
  return true;
}

// Processor time of a batch that is made on one thread, without a step.
double Comparer::Impl::input_seconds() {
  Spec base = written;
  base.erase("delivery");
  const Config config = read_config(base, catalog);
  Pipeline pipeline(build_input(config, catalog), {});
  RowBlock batch = pipeline.make_slot();
  out.input_rows = batch.capacity();
  int64_t batches = 0;
  double begin = thread_seconds(), end = begin;
  const auto enough = [&] { return batches >= kInputBatches || batches >= out.steps || training.stopped(); };
  for (int64_t i = 0; !enough() && pipeline.next(batch) > 0; ++i) {
    end = thread_seconds();
    if (i < options.warm_up) {
      begin = end;
    } else {
      ++batches;
    }
  }
  return batches == 0 ? 0 : (end - begin) / static_cast<double>(batches);
}

std::optional<Comparison> Comparer::Impl::compare(const CompareCallbacks& callbacks) {
  const auto tell = [&](int64_t round, const Contestant& contestant) {
    if (callbacks.on_training) callbacks.on_training(round, options.rounds, contestant.result.name);
  };
  // `constant` last: it must be told when to end.
  for (const bool constant : {false, true}) {
    for (Contestant& contestant : contestants) {
      if ((contestant.result.kind == DeliveryKind::constant) != constant) continue;
      if (constant && out.steps == 0) {
        throw written.error("the delivery constant never ends", "set train.steps, or compare it with another one");
      }
      tell(0, contestant);
      if (!train(contestant, false)) return std::nullopt;
    }
  }
  for (int64_t round = 1; round <= options.rounds; ++round) {
    if (callbacks.on_training) callbacks.on_training(round, options.rounds, "the input alone");
    inputs.push_back(input_seconds());
    for (Contestant& contestant : contestants) {
      tell(round, contestant);
      if (!train(contestant, true)) return std::nullopt;
    }
    tell(round, contestants[repeated]);
    const TimedRun run = training.run(contestants[repeated].config, {.warm_up = options.warm_up});
    if (run.stopped) return std::nullopt;
    again.push_back(run.step_seconds());
  }
  finish();
  return out;
}

void Comparer::Impl::finish() {
  out.processor = processor_name();
  out.processors = Executor::available_threads();
  out.version = std::string(version());
  out.warm_up = options.warm_up;
  out.rounds = options.rounds;
  out.input_seconds = median_of(inputs);
  std::vector<double> differences;
  for (size_t i = 0; i < again.size(); ++i) {
    differences.push_back(std::abs(again[i] / contestants[repeated].steps[i] - 1));
  }
  out.noise = median_of(differences);
  out.noise_of = contestants[repeated].result.name;
  for (Contestant& contestant : contestants) {
    ComparedDelivery& result = contestant.result;
    result.step_seconds = Spread::of(contestant.steps);
    result.rows_per_second = static_cast<double>(result.batch_size) / result.step_seconds.median;
    result.processor_seconds = median_of(contestant.processors);
    result.make_seconds = median_of(contestant.makes);
    result.wait_seconds = median_of(contestant.waits);
    result.copy_seconds = median_of(contestant.copies);
    result.input_wait = (result.make_seconds + result.wait_seconds + result.copy_seconds) / result.step_seconds.median;
    if (!result.queued.empty()) {
      const auto sum = std::accumulate(result.queued.begin(), result.queued.end(), int64_t{0});
      result.mean_queued = static_cast<double>(sum) / static_cast<double>(result.queued.size());
    }
    out.deliveries.push_back(result);
  }
  find_bounds();
}

// A thread that feeds does one thing after the other. Else input and step overlap: on a CPU they share the threads, and
// a GPU needs none of them.
void Comparer::Impl::find_bounds() {
  const bool shared = out.device == "cpu";
  for (ComparedDelivery& delivery : out.deliveries) {
    const ComparedDelivery* alone = out.find(DeliveryKind::constant, delivery.batch_size);
    if (alone == nullptr) continue;
    const double step = alone->step_seconds.median;
    const double input =
        out.input_seconds * static_cast<double>(delivery.batch_size) / static_cast<double>(out.input_rows);
    const double work = shared ? alone->processor_seconds + input : input;
    switch (delivery.kind) {
      case DeliveryKind::constant: delivery.bound_seconds = step; break;
      case DeliveryKind::feed: delivery.bound_seconds = step + input + delivery.copy_seconds; break;
      default: delivery.bound_seconds = std::max(step, work / out.threads);
    }
  }
}

Comparer::Comparer(const Spec& config, const Catalog& catalog) : impl_(std::make_unique<Impl>(config, catalog)) {}

Comparer::~Comparer() = default;

std::optional<Comparison> Comparer::run(const CompareCallbacks& callbacks) { return impl_->compare(callbacks); }

const InputFiles& Comparer::files() const { return impl_->files; }

void Comparer::stop() noexcept { impl_->training.stop(); }

}  // namespace millrace
