#include "millrace/trainer/trainer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/executor.h"
#include "millrace/core/float_mode.h"
#include "millrace/core/kernels/gemm.h"
#include "millrace/core/text.h"
#include "millrace/trainer/atomic_file.h"
#include "millrace/trainer/build_input.h"
#include "millrace/trainer/delivery.h"
#include "millrace/trainer/files_in_use.h"
#include "millrace/trainer/overrides.h"
#include "millrace/trainer/saved_model.h"
#include "millrace/trainer/step.h"
#include "millrace/trainer/yaml.h"
#include "millrace/trainer/yaml_writer.h"

namespace millrace {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kProgressInterval = std::chrono::milliseconds(100);

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

std::vector<NamedSpec> model_inputs(const RowSpec& rows) {
  std::vector<NamedSpec> inputs;
  for (const FieldSpec& field : rows.fields) inputs.push_back({field.name, field.tensor()});
  return inputs;
}

// The pass of the newest row of the batch, counted from 1.
uint64_t epoch_of(const RowBlock& batch) {
  uint32_t pass = 0;
  for (int64_t row = 0; row < batch.size(); ++row) pass = std::max(pass, batch.id(row).pass);
  return uint64_t{pass} + 1;
}

}  // namespace

struct Trainer::Impl {
  Impl(Config read_config, InputGraph graph, Device device)
      : config(std::move(read_config)),
        executor(config.threads),
        context(device, executor),
        delivery(
            Delivery::make(config.delivery, std::move(graph), {.executor = executor, .pipeline = pipeline_options()})),
        warnings(delivery->graph().warnings()) {}

  PipelineOptions pipeline_options();
  void build_model();
  void check_save() const;
  Spec kept_config() const;
  void begin(const TrainCallbacks& given);
  TrainResult train();
  const RowBlock* next_batch();
  void train_on(const RowBlock& batch);
  void fill_report(const RowBlock& batch, Clock::time_point now);
  TrainResult result(std::string reason);

  const Port& input() const { return delivery->graph().output(); }
  void log(std::string_view text) const {
    if (callbacks.on_log) callbacks.on_log(text);
  }

  Config config;
  Executor executor;
  Context context;
  std::unique_ptr<Delivery> delivery;
  std::optional<Model> model;  // made by build_model()
  std::unique_ptr<TrainStep> step;
  std::vector<std::string> warnings;
  std::atomic<bool> stopping{false};

  bool begun = false;
  TrainCallbacks callbacks;  // given to run()

  Clock::time_point started, window_began, progress_shown;
  Clock::duration waited{}, waited_before_window{};
  uint64_t rows_done = 0, rows_before_window = 0;
  int64_t last_batch = 0;
  StepReport report;
};

PipelineOptions Trainer::Impl::pipeline_options() {
  PipelineOptions options;
  options.on_bad_row = [this](const BadRow& bad) { log(cat("left out ", bad.place.text(), ": ", bad.reason)); };
  options.on_print = [this](std::string_view text) { log(text); };
  options.reader = context.device();
  return options;
}

void Trainer::Impl::build_model() {
  std::vector<std::string> names;
  model.emplace(Model::build(
      {.layers = std::move(config.layers), .inputs = model_inputs(input().rows), .seed = config.seed}, context));
  for (const Model::Node& node : model->nodes()) names.push_back(node.name);
  complete_resolved(config, delivery->graph().resolved(), names);
  try {
    step = std::make_unique<TrainStep>(StepArgs{.model = *model,
                                                .context = context,
                                                .loss = *config.loss.loss,
                                                .optimizer = *config.optimizer,
                                                .rows = input().rows,
                                                .label = config.loss.label,
                                                .weight = config.loss.weight,
                                                .metrics = &config.metrics});
  } catch (ConfigError& error) {
    error.set_place(config.loss.spec.place());
    throw;
  }
}

// Finds out before the training that its model could not be kept.
void Trainer::Impl::check_save() const {
  if (!config.save) return;
  const std::string loss = would_overwrite(*config.save, delivery->graph().files(), config.written.place().file);
  if (!loss.empty()) throw config.node("save").error(loss, "give it another name");
  check_writable(*config.save);
  to_yaml(kept_config());  // throws for texts that YAML cannot hold
}

// What a model file says of its making: where it was first saved to is nothing to whoever reads it.
Spec Trainer::Impl::kept_config() const {
  Spec kept = config.resolved;
  kept.erase("save");
  return kept;
}

Trainer Trainer::from_spec(Spec spec, const Catalog& catalog) {
  const FloatMode mode;
  Config config = read_config(spec, catalog);
  Device device;
  std::string device_warning;
  try {
    device = parse_device(config.device, &device_warning);
  } catch (Error& error) {
    error.set_place(config.node("device").place());
    throw;
  }
  InputGraph graph = build_input(config, catalog);
  auto impl = std::make_unique<Impl>(std::move(config), std::move(graph), device);
  if (!device_warning.empty()) impl->warnings.push_back(std::move(device_warning));
  impl->build_model();
  impl->check_save();
  return Trainer(std::move(impl));
}

Trainer Trainer::from_file(const std::string& path, std::span<const std::string> overrides, const Catalog& catalog) {
  Spec spec = read_yaml_file(path);
  apply_overrides(spec, overrides);
  return from_spec(std::move(spec), catalog);
}

Trainer::Trainer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

const Config& Trainer::config() const { return impl_->config; }
Model& Trainer::model() { return *impl_->model; }
const InputGraph& Trainer::input() const { return impl_->delivery->graph(); }
const std::vector<std::string>& Trainer::warnings() const { return impl_->warnings; }
int64_t Trainer::steps() const { return static_cast<int64_t>(impl_->step->steps()); }

uint64_t Trainer::memory_bound() const {
  const FloatMode mode;
  const Impl& impl = *impl_;
  // The model, and its copy on the host when it is hashed or saved.
  const uint64_t model_bytes = 2 * impl.model->bytes();
  return impl.delivery->memory_bound() + model_bytes + impl.step->memory_bound(impl.input().batch_size) +
         shared_gemm_bytes(impl.context.device());
}

void Trainer::Impl::begin(const TrainCallbacks& given) {
  if (begun) throw InternalError("a trainer runs once", {}, "make another one from the same configuration");
  begun = true;
  callbacks = given;
  if (callbacks.on_start) {
    callbacks.on_start({.device = context.device().text(),
                        .threads = executor.threads(),
                        .parameters = model->parameter_count(),
                        .batch_size = input().batch_size,
                        .steps = config.train.steps});
  }
  for (const std::string& warning : warnings) log(cat("warning: ", warning));
  step->prepare(input().batch_size);
  for (const NamedMetric& metric : config.metrics) report.metrics.emplace_back(metric.name, 0.0);
  started = window_began = progress_shown = Clock::now();
}

const RowBlock* Trainer::Impl::next_batch() {
  const Clock::time_point before = Clock::now();
  const RowBlock* batch = delivery->next();
  waited += Clock::now() - before;
  return batch;
}

void Trainer::Impl::train_on(const RowBlock& batch) {
  try {
    executor.run([&] { step->run(batch); });
  } catch (DataError& error) {
    if (step->error_row() >= 0) error.set_place(delivery->place(batch.id(step->error_row())));
    throw;
  }
  last_batch = batch.size();
  rows_done += static_cast<uint64_t>(batch.size());
  const bool log_now = callbacks.on_step && step->steps() % static_cast<uint64_t>(config.train.log_every) == 0;
  const Clock::time_point now = Clock::now();
  const bool show_now = callbacks.on_progress && now - progress_shown >= kProgressInterval;
  if (!log_now && !show_now) return;
  fill_report(batch, now);
  if (log_now) {
    callbacks.on_step(report);
    window_began = now;
    rows_before_window = rows_done;
    waited_before_window = waited;
  }
  if (show_now) {
    callbacks.on_progress(report);
    progress_shown = now;
  }
}

void Trainer::Impl::fill_report(const RowBlock& batch, Clock::time_point now) {
  report.step = static_cast<int64_t>(step->steps());
  report.epoch = epoch_of(batch);
  report.batch_size = batch.size();
  report.loss = step->loss();
  const std::vector<double>& values = step->metrics();
  for (size_t i = 0; i < values.size(); ++i) report.metrics[i].second = values[i];
  const double window = std::max(seconds_between(window_began, now), 1e-9);
  report.rows_per_s = static_cast<double>(rows_done - rows_before_window) / window;
  report.input_wait = std::chrono::duration<double>(waited - waited_before_window).count() / window;
  report.seconds = seconds_between(started, now);
}

TrainResult Trainer::Impl::result(std::string reason) {
  TrainResult out;
  out.reason = std::move(reason);
  out.steps = static_cast<int64_t>(step->steps());
  out.rows = rows_done;
  out.seconds = seconds_between(started, Clock::now());
  out.last_batch = last_batch;
  out.loss = last_batch > 0 ? step->loss() : std::numeric_limits<double>::quiet_NaN();
  if (last_batch > 0) {
    const std::vector<double>& values = step->metrics();
    for (size_t i = 0; i < values.size(); ++i) out.metrics.emplace_back(config.metrics[i].name, values[i]);
  }
  out.weights = weights_hash(*model, context);
  out.input_wait = out.seconds > 0 ? std::chrono::duration<double>(waited).count() / out.seconds : 0;
  out.input = delivery->summary();
  out.epochs = out.input.passes;
  return out;
}

TrainResult Trainer::Impl::train() {
  const auto finished = [&] {
    return config.train.steps && step->steps() >= static_cast<uint64_t>(*config.train.steps);
  };
  while (!finished() && !stopping.load()) {
    const RowBlock* batch = next_batch();
    if (batch == nullptr) {
      if (stopping.load()) break;
      if (step->steps() == 0) log("warning: the data ended before the first batch: nothing was trained");
      return result("end of data");
    }
    train_on(*batch);
  }
  return result(finished() ? "steps" : "stopped");
}

TrainResult Trainer::run(const TrainCallbacks& callbacks) {
  const FloatMode mode;
  impl_->begin(callbacks);
  TrainResult result = impl_->train();
  if (config().save) {
    save(*config().save);
    result.saved = *config().save;
  }
  return result;
}

void Trainer::stop() noexcept {
  impl_->stopping.store(true);
  impl_->delivery->stop();
}

void Trainer::save(const std::string& path) {
  const FloatMode mode;
  save_model(path, *impl_->model, impl_->context, impl_->kept_config());
}

}  // namespace millrace
