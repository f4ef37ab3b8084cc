#include "millrace/cli/speed/speed.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "millrace/core/clock.h"
#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/input/build_input.h"
#include "millrace/trainer/input/op_list.h"

namespace millrace {

namespace {

// How much of a step's time the input adds.
constexpr double kMuchAdded = 0.5, kLittleAdded = 0.1;
// How much advice is tried; more would take too long.
constexpr size_t kMostTried = 4;
constexpr int64_t kLeastSteps = 5;

// Puts a `repeat` before the op that makes batches.
void repeat_before_batches(Spec& config) {
  Spec* const input = config.find("input");
  if (!input->is_list() || input->items().empty()) return;
  std::vector<Spec> items = input->items();
  const Spec& last = items.back();
  // With `from` it may read another op than the one before it.
  if (last.is_map() && last.entries().front().second.find("from") != nullptr) return;
  items.insert(items.end() - 1, Spec::of(kRepeatKind));
  *input = Spec::list(std::move(items), input->place());
}

// Whether the buffer waits for the end of its rows, or ends although its rows have no end.
bool ends_or_waits(const RowBuffer& buffer) {
  return attributed(
      buffer, [&] { return buffer.needs_end() || !buffer.endless(std::vector<bool>(buffer.inputs().size(), true)); });
}

// Makes the input endless, because a small data set takes less time than a measurement. The sources repeat their data,
// unless an op after them waits for the end of the data or makes one. Then a `repeat` after that op repeats the rows.
Spec endless(Spec config, const Catalog& catalog) {
  std::vector<std::string> settings = {"train.steps=null"}, sources;
  bool waits = false, repeats = false;
  for_each_op(config, catalog.ops, [&](const ListedOp& op) {
    const RowBuffer* buffer = op.node.row_buffer;
    const bool has_end = option_of(op.node, OptionUse::ends) != nullptr;
    waits = waits || (buffer != nullptr && ends_or_waits(*buffer));
    repeats = repeats || (buffer != nullptr && has_end);
    if (!op.number(OptionUse::ends)) return;
    (buffer != nullptr ? settings : sources).push_back(op.key(OptionUse::ends) + "=null");
  });
  if (!waits && !repeats) settings.insert(settings.end(), sources.begin(), sources.end());
  apply_overrides(config, settings, catalog);
  if (waits && !repeats) repeat_before_batches(config);
  return config;
}

class SpeedTest {
 public:
  SpeedTest(const Spec& config, const Catalog& catalog, const SpeedOptions& options)
      : catalog_(catalog), options_(options), spec_(for_speed(config, catalog)) {}

  std::optional<SpeedReport> run() {
    read();
    if (!measure_both()) return std::nullopt;
    out_.bottleneck = bottleneck_of(out_.step.median, out_.together.median);
    if (!resolved_->workers) out_.workers = workers_wanted(out_);
    for (Advice& advice : candidates()) {
      options_.tell(cat("trying ", advice.key, '=', advice.to));
      if (!try_out(advice)) return std::nullopt;
      out_.tried.push_back(advice);
    }
    out_.advice = best_of(out_.tried, out_.noise);
    out_.op = out_.advice ? op_of(*out_.advice).value_or(busiest_op(out_.ops)) : busiest_op(out_.ops);
    return out_;
  }

 private:
  void read() {
    const Trainer trainer = Trainer::from_spec(spec_, catalog_);
    if (trainer.config().delivery.kind == DeliveryKind::constant) {
      throw spec_.find("delivery")
          ->error("constant reads only one batch, so there is no input to measure", "leave it out, or set another one");
    }
    if (trainer.input().reads_once()) {
      throw spec_.find("input")->error("the speed is measured by reading the data again and again, and these come once",
                                       "write them to a file first");
    }
    resolved_.emplace(read_config(trainer.config().resolved, catalog_));
    memory_bound_ = trainer.memory_bound();
    out_.batch_size = trainer.input().output().batch_size;
  }

  // The measured configuration with another value of the key.
  Spec with(const std::string& key, const std::string& value) const {
    Spec config = spec_;
    apply_override(config, cat(key, '=', value), catalog_);
    return config;
  }

  bool measure_both() {
    const Spec alone = with("delivery", "constant");
    std::vector<double> steps, both, differences;
    for (int64_t round = 1; round <= options_.rounds; ++round) {
      options_.tell(cat("round ", round, " of ", options_.rounds, ": step, input, both"));
      const auto step = train(alone);
      if (!step) return false;
      measure_input();
      const auto first = train(spec_), second = train(spec_);
      if (!first || !second) return false;
      steps.push_back(step->step_seconds());
      both.push_back((first->step_seconds() + second->step_seconds()) / 2);
      differences.push_back(std::abs(second->step_seconds() / first->step_seconds() - 1));
      out_.device = second->result.device;
      out_.threads = second->result.threads;
      out_.diagnosis = diagnose(*resolved_, catalog_.ops, second->result);
      out_.ops = second->result.delivery.input.ops;
    }
    out_.step = Spread::of(steps);
    out_.together = Spread::of(both);
    out_.noise = median_of(differences);
    out_.input_rows_per_second = median_of(rows_per_second_);
    out_.input_bytes_per_second = median_of(bytes_per_second_);
    return true;
  }

  void measure_input() {
    Executor executor(resolved_->threads);
    Pipeline pipeline(build_input({.list = *spec_.find("input"),
                                   .registry = catalog_.ops,
                                   .seed = resolved_->seed,
                                   .workers = workers_of(*resolved_)}),
                      {.executor = &executor});
    RowBlock batch = pipeline.make_slot();
    for (int64_t i = 0; i < options_.warm_up && pipeline.next(batch) > 0; ++i) {
    }
    const InputSummary before = pipeline.summary();
    const Clock::time_point start = Clock::now();
    double seconds = 0;
    for (int64_t i = 0; (seconds < options_.window_seconds || i < kLeastSteps) && !options_.stop.stop_requested();
         ++i) {
      if (pipeline.next(batch) == 0) break;
      seconds = 1e-9 * static_cast<double>(nanoseconds_since(start));
    }
    const InputSummary after = pipeline.summary();
    if (after.rows == before.rows) return;
    rows_per_second_.push_back(static_cast<double>(after.rows - before.rows) / seconds);
    bytes_per_second_.push_back(static_cast<double>(after.bytes - before.bytes) / seconds);
  }

  std::optional<TimedRun> train(const Spec& config) const {
    auto run = timed_training(config, catalog_,
                              {.warm_up = options_.warm_up,
                               .seconds = options_.window_seconds,
                               .least_steps = kLeastSteps,
                               .stop = options_.stop});
    if (!run || run->timed > 0) return run;
    throw DataError(cat("the training ends after ", count_of(run->steps, "step"), ", of which the first ",
                        options_.warm_up, " are not timed"),
                    {}, "give it more data, or smaller batches");
  }

  // First the advice of the diagnosis, then other advice that may help.
  std::vector<Advice> candidates() const {
    std::vector<Advice> all = out_.diagnosis.advice;
    if (out_.bottleneck != Bottleneck::step) {
      for (Advice& advice : worth_trying(*resolved_, catalog_.ops, out_.threads)) {
        if (std::ranges::find(all, advice.key, &Advice::key) == all.end()) all.push_back(std::move(advice));
      }
    }
    std::erase_if(all, [&](const Advice& advice) { return !is_possible(advice); });
    if (all.size() > kMostTried) all.resize(kMostTried);
    return all;
  }

  // Whether the configuration with this advice is valid, and needs not much more memory.
  bool is_possible(const Advice& advice) const {
    constexpr uint64_t kMoreBytes = uint64_t{256} << 20;
    try {
      return Trainer::from_spec(with(advice.key, advice.to), catalog_).memory_bound() <= memory_bound_ + kMoreBytes;
    } catch (const ConfigError&) {
      return false;
    }
  }

  // Measures the gain of the advice: the training runs with and without it, by turns. False after a stop.
  bool try_out(Advice& advice) const {
    const Spec changed = with(advice.key, advice.to);
    std::vector<double> gains;
    for (int64_t round = 0; round < options_.rounds; ++round) {
      const auto before = train(spec_), there = train(changed), after = train(spec_);
      if (!before || !there || !after) return false;
      gains.push_back((before->step_seconds() + after->step_seconds()) / (2 * there->step_seconds()));
    }
    advice.expected_gain = median_of(gains);
    return true;
  }

  const Catalog& catalog_;
  const SpeedOptions& options_;
  const Spec spec_;                 // the configuration that is measured
  std::optional<Config> resolved_;  // of spec_, with every option of every op
  uint64_t memory_bound_ = 0;
  SpeedReport out_;
  std::vector<double> rows_per_second_, bytes_per_second_;
};

}  // namespace

Spec for_speed(const Spec& config, const Catalog& catalog) { return endless(for_timing(config), catalog); }

int64_t workers_wanted(const SpeedReport& report) {
  // What one thread reads in order stays here.
  if (report.bottleneck != Bottleneck::input || !report.diagnosis.serial_op.empty()) return 0;
  return std::max<int64_t>(std::llround(std::ceil(report.batch_seconds() / report.step.median)), 1);
}

std::vector<Advice> worth_trying(const Config& config, const OpRegistry& ops, int threads) {
  std::vector<Advice> out;
  const auto add = [&](const std::string& key, auto from, auto to, std::string why) {
    out.push_back({.key = key, .from = cat(from), .to = cat(to), .expected_gain = 1, .why = std::move(why)});
  };
  for_each_op(config.resolved, ops, [&](const ListedOp& op) {
    const OptionInfo* chunk = option_of(op.node, OptionUse::chunk_bytes);
    if (const auto bytes = op.knob(OptionUse::chunk_bytes); bytes && chunk->fallback.is_scalar()) {
      const int64_t usual = chunk->fallback.as_int();
      if (*bytes < usual / 2 || *bytes > 8 * usual) {
        add(op.key(OptionUse::chunk_bytes), *bytes, usual, "a task reads and decodes so many bytes at a time");
      }
    }
    const auto tasks = op.number(OptionUse::tasks), batch_rows = op.number(OptionUse::batch_rows);
    if (op.knob(OptionUse::tasks) && *tasks < threads && !config.delivery.threads) {
      add(op.key(OptionUse::tasks), *tasks, threads, "so many tasks may decode at once");
    }
    if (const OptionInfo* key = option_of(op.node, OptionUse::waiting); key == nullptr || !key->only_speed) return;
    // Rows that stay in a window do not wait for the step.
    const int64_t kept = op.number(OptionUse::always_waiting).value_or(0);
    auto waiting = op.number(OptionUse::waiting);
    const std::string now = waiting ? cat(*waiting) : "";
    if (!waiting && tasks && batch_rows) waiting = kept + (*tasks + 1) * *batch_rows;
    if (waiting) {
      add(op.key(OptionUse::waiting), now, kept + 8 * (*waiting - kept), "so much may wait for the step");
    }
  });
  if (config.delivery.kind == DeliveryKind::feed) {
    add("delivery", "feed", "native", "the training thread makes and copies every batch by itself");
  }
  if (config.delivery.has_queue()) {
    const int64_t capacity = config.delivery.capacity.value_or(DeliveryOptions::kCapacity);
    add("delivery.capacity", capacity, 4 * capacity, "so many batches may wait for the step");
    if (config.delivery.threads && *config.delivery.threads < threads) {
      add("delivery.threads", *config.delivery.threads, threads, "so many tasks may decode at once");
    }
  }
  return out;
}

Bottleneck bottleneck_of(double step_seconds, double together_seconds) {
  const double added = 1 - step_seconds / together_seconds;
  if (added >= kMuchAdded) return Bottleneck::input;
  return added < kLittleAdded ? Bottleneck::step : Bottleneck::none;
}

std::optional<Advice> best_of(const std::vector<Advice>& tried, double noise) {
  const auto best = std::ranges::max_element(tried, {}, &Advice::expected_gain);
  if (best == tried.end() || best->expected_gain < std::max(kWorthwhileGain, 1 + noise)) return std::nullopt;
  return *best;
}

std::optional<SpeedReport> measure_speed(const Spec& config, const Catalog& catalog, const SpeedOptions& options) {
  return SpeedTest(config, catalog, options).run();
}

}  // namespace millrace
