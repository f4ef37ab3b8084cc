#include "millrace/cli/compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "millrace/core/context.h"
#include "millrace/core/describe_device.h"
#include "millrace/core/errors.h"
#include "millrace/core/registry.h"
#include "millrace/core/text.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/input/build_input.h"
#include "millrace/trainer/input/op_list.h"
#include "millrace/version.h"

namespace millrace {

namespace {

// After so many batches, the time of one batch is known well enough.
constexpr int64_t kInputBatches = 200;
// How many workers a delivery with `workers: true` has.
constexpr int kWorkers = 2;

// The key for the size of the input's batches; empty if there is none.
std::string batch_rows_key(const Spec& config, const OpRegistry& ops) {
  std::string out;
  for_each_op(config, ops, [&](const ListedOp& op) {
    if (option_of(op.node, OptionUse::batch_rows) != nullptr) out = op.key(OptionUse::batch_rows);
  });
  return out;
}

// The name that the item gives, else its kind and options: "queue (capacity 4)".
std::string name_of(const CompareItem& item, DeliveryKind kind) {
  if (!item.name.empty()) return item.name;
  std::vector<std::string> details;
  const auto add = [&](const char* what, const std::optional<int64_t>& value) {
    if (value) details.push_back(cat(what, ' ', *value));
  };
  add("capacity", item.delivery.capacity);
  add("threads", item.delivery.threads);
  add("batches of", item.batch_size);
  if (item.workers) details.push_back(count_of(kWorkers, "worker"));
  return cat(OptionType<DeliveryKind>::write(kind).as_string(),
             details.empty() ? "" : cat(" (", join(details, ", "), ')'));
}

}  // namespace

bool Comparison::equal_weights() const {
  std::set<std::string> weights;
  for (const ComparedDelivery& delivery : deliveries) {
    if (delivery.same_training) weights.insert(delivery.weights);
  }
  return weights.size() <= 1;
}

const ComparedDelivery* Comparison::find(DeliveryKind kind, std::optional<int64_t> rows) const {
  const auto found = std::ranges::find_if(deliveries, [=](const ComparedDelivery& delivery) {
    return delivery.kind == kind && (!rows || delivery.batch_size == *rows);
  });
  return found == deliveries.end() ? nullptr : &*found;
}

std::optional<double> Comparison::over_feed(const ComparedDelivery& delivery) const {
  const ComparedDelivery* feed = find(DeliveryKind::feed);
  if (feed == nullptr) return std::nullopt;
  return delivery.rows_per_second / feed->rows_per_second;
}

Spread Comparer::Contestant::each_step(double (*seconds)(const TimedRun& run)) const {
  std::vector<double> out;
  for (const TimedRun& run : runs) out.push_back(seconds(run) / static_cast<double>(run.timed));
  return Spread::of(std::move(out));
}

Comparer::Comparer(const Spec& config, const Catalog& catalog) : catalog_(catalog), written_(config) {
  const Config read = read_config(config, catalog);
  options_ = read.compare.value_or(CompareOptions());
  const Spec base = for_timing(config);
  for (const CompareItem& item : options_.deliveries) add(item, base, read);
  if (out_.batch_size == 0) out_.batch_size = contestants_.front().result.batch_size;
  std::set<std::string> names;
  for (Contestant& contestant : contestants_) {
    ComparedDelivery& result = contestant.result;
    result.same_training = result.kind != DeliveryKind::constant && result.batch_size == out_.batch_size;
    if (names.insert(result.name).second) continue;
    throw read.node("compare").error(cat("two deliveries are called ", quote(result.name)),
                                     "give each a name of its own: {kind: .., name: ..}");
  }
  const auto kind_of = [](const Contestant& one) { return one.result.kind; };
  const auto native = std::ranges::find(contestants_, DeliveryKind::native, kind_of);
  if (native != contestants_.end()) repeated_ = static_cast<size_t>(native - contestants_.begin());
  out_.steps = read.train.steps.value_or(0);
  if (read.train.steps && out_.steps <= options_.warm_up) throw nothing_to_time(out_.steps);
}

void Comparer::add(const CompareItem& item, const Spec& base, const Config& read) {
  Contestant& contestant = contestants_.emplace_back();
  contestant.config = base;
  contestant.config.set("delivery", OptionType<DeliveryOptions>::write(item.delivery));
  if (item.batch_size) {
    const std::string key = batch_rows_key(base, catalog_.ops);
    if (key.empty()) throw read.node("compare").error("no op of the input has a key for the size of batches");
    apply_override(contestant.config, cat(key, '=', *item.batch_size), catalog_);
  }
  if (item.workers) {
#ifdef MILLRACE_WITHOUT_WORKERS
    throw read.node("compare").error(left_out_text("workers", "workers"), left_out_hint("workers"));
#else
    if (!workers_) workers_ = start_local_workers(kWorkers, catalog_);
    contestant.config.set("workers", write_options(workers_->options()));
#endif
  }
  ComparedDelivery& result = contestant.result;
  result.kind = item.delivery.kind == DeliveryKind::automatic ? DeliveryKind::native : item.delivery.kind;
  result.name = name_of(item, result.kind);
  if (item.delivery.has_queue()) result.capacity = item.delivery.capacity.value_or(DeliveryOptions::kCapacity);
  const Trainer trainer = Trainer::from_spec(contestant.config, catalog_);
  if (trainer.input().reads_once()) {
    throw read.node("input").error("a comparison reads the data of every training anew, and these come once",
                                   "write them to a file first");
  }
  result.batch_size = trainer.input().output().batch_size;
  files_ = trainer.input().files();
  if (!item.batch_size) out_.batch_size = result.batch_size;
}

ConfigError Comparer::nothing_to_time(int64_t steps) const {
  const Spec* node = written_.find("compare");
  return (node == nullptr ? written_ : *node)
      .error(cat("the training has ", count_of(steps, "step"), ", and the first ", options_.warm_up, " are not timed"),
             "set train.steps, give it more data, or lower compare.warm_up");
}

std::optional<TimedRun> Comparer::train(Contestant& contestant, const CompareRun& how) {
  if (out_.steps > 0) apply_override(contestant.config, cat("train.steps=", out_.steps), catalog_);
  auto run = timed_training(contestant.config, catalog_, {.warm_up = options_.warm_up, .stop = how.stop});
  if (!run) return run;
  if (run->timed == 0) throw nothing_to_time(run->steps);
  if (out_.steps == 0) out_.steps = run->steps;
  contestant.result.weights = run->result.weights;
  out_.device = run->result.device;
  out_.threads = run->result.threads;
  return run;
}

double Comparer::input_seconds(const std::stop_token& stop) {
  Spec base = written_;
  base.erase("delivery");
  const Config config = read_config(base, catalog_);
  Pipeline pipeline(build_input(config, catalog_), {});
  RowBlock batch = pipeline.make_slot();
  out_.input_rows = batch.capacity();
  const int64_t most = std::min(kInputBatches, out_.steps);
  int64_t batches = -options_.warm_up;
  double begin = processor_seconds(CLOCK_THREAD_CPUTIME_ID), end = begin;
  for (; batches < most && !stop.stop_requested() && pipeline.next(batch) > 0; ++batches) {
    end = processor_seconds(CLOCK_THREAD_CPUTIME_ID);
    if (batches < 0) begin = end;
  }
  return batches <= 0 ? 0 : (end - begin) / static_cast<double>(batches);
}

std::optional<Comparison> Comparer::run(const CompareRun& how) {
  // `constant` comes last: it never ends by itself, so it runs for as many steps as the others.
  for (const bool constant : {false, true}) {
    for (Contestant& contestant : contestants_) {
      if ((contestant.result.kind == DeliveryKind::constant) != constant) continue;
      if (constant && out_.steps == 0) {
        throw written_.error("the delivery constant never ends", "set train.steps, or compare it with another one");
      }
      how.on_training(0, options_.rounds, contestant.result.name);
      if (!train(contestant, how)) return std::nullopt;
    }
  }
  for (int64_t round = 1; round <= options_.rounds; ++round) {
    how.on_training(round, options_.rounds, "the input alone");
    inputs_.push_back(input_seconds(how.stop));
    for (Contestant& contestant : contestants_) {
      how.on_training(round, options_.rounds, contestant.result.name);
      std::optional<TimedRun> run = train(contestant, how);
      if (!run) return std::nullopt;
      std::vector<int64_t> queued = std::exchange(run->queued, {});
      if (run->result.delivery.mean_queued) contestant.result.queued = std::move(queued);
      contestant.runs.push_back(std::move(*run));
    }
    Contestant& twice = contestants_[repeated_];
    how.on_training(round, options_.rounds, twice.result.name);
    const std::optional<TimedRun> again = train(twice, how);
    if (!again) return std::nullopt;
    differences_.push_back(std::abs(again->step_seconds() / twice.runs.back().step_seconds() - 1));
  }
  finish();
  return out_;
}

void Comparer::finish() {
  out_.processor = processor_model();
  out_.processors = Executor::available_threads();
  out_.version = std::string(version());
  out_.warm_up = options_.warm_up;
  out_.rounds = options_.rounds;
  out_.input_seconds = median_of(inputs_);
  out_.noise = median_of(differences_);
  out_.noise_of = contestants_[repeated_].result.name;
  for (Contestant& contestant : contestants_) {
    ComparedDelivery& result = contestant.result;
    const auto median = [&](auto seconds) { return contestant.each_step(seconds).median; };
    result.step_seconds = contestant.each_step([](const TimedRun& run) { return run.seconds; });
    result.rows_per_second = static_cast<double>(result.batch_size) / result.step_seconds.median;
    result.processor_seconds = median([](const TimedRun& run) { return run.processor_seconds; });
    result.make_seconds = median([](const TimedRun& run) { return run.times.make_seconds; });
    result.wait_seconds = median([](const TimedRun& run) { return run.times.wait_seconds; });
    result.copy_seconds = median([](const TimedRun& run) { return run.times.copy_seconds; });
    result.input_wait = (result.make_seconds + result.wait_seconds + result.copy_seconds) / result.step_seconds.median;
    if (!result.queued.empty()) {
      const auto sum = std::accumulate(result.queued.begin(), result.queued.end(), int64_t{0});
      result.mean_queued = static_cast<double>(sum) / static_cast<double>(result.queued.size());
    }
    out_.deliveries.push_back(result);
  }
  find_bounds();
}

// With `feed`, one thread makes a batch, copies it and takes the step, one after another. With other deliveries input
// and step overlap: on a CPU they share the threads; with a GPU all threads are there for the input.
void Comparer::find_bounds() {
  const bool shared = out_.device == "cpu";
  for (ComparedDelivery& delivery : out_.deliveries) {
    const ComparedDelivery* alone = out_.find(DeliveryKind::constant, delivery.batch_size);
    if (alone == nullptr) continue;
    const double step = alone->step_seconds.median;
    const double input =
        out_.input_seconds * static_cast<double>(delivery.batch_size) / static_cast<double>(out_.input_rows);
    const double work = shared ? alone->processor_seconds + input : input;
    switch (delivery.kind) {
      case DeliveryKind::constant: delivery.bound_seconds = step; break;
      case DeliveryKind::feed: delivery.bound_seconds = step + input + delivery.copy_seconds; break;
      default: delivery.bound_seconds = std::max(step, work / out_.threads);
    }
  }
}

}  // namespace millrace
