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
#include "millrace/core/kernels/gemm.h"
#include "millrace/core/float_mode.h"
#include "millrace/core/text.h"
#include "millrace/trainer/build_input.h"
#include "millrace/trainer/delivery.h"
#include "millrace/trainer/overrides.h"
#include "millrace/trainer/saved_model.h"
#include "millrace/trainer/step.h"
#include "millrace/trainer/yaml.h"

namespace millrace {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kProgressInterval = std::chrono::milliseconds(100);
// Batches that a delivery holds: feed makes one and hands on a copy.
constexpr uint64_t kMostSlots = 2;

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
  Impl(Config read_config, InputGraph built_graph, Device device)
      : config(std::move(read_config)),
        executor(config.threads),
        context(device, executor),
        graph(std::move(built_graph)),
        rows(graph.output().rows),
        batch_size(graph.output().batch_size),
        warnings(graph.warnings()) {}

  void build_model();
  void begin(const TrainCallbacks& callbacks);
  const RowBlock* next_batch();
  void train_on(const RowBlock& batch, const TrainCallbacks& callbacks);
  void fill_report(const RowBlock& batch, Clock::time_point now);
  TrainResult result(std::string reason);

  Config config;
  Executor executor;
  Context context;
  InputGraph graph;  // moved into the delivery when run() begins
  RowSpec rows;
  int64_t batch_size;
  std::vector<std::string> warnings;
  std::optional<Model> model;  // made by build_model()
  std::unique_ptr<TrainStep> step;
  std::unique_ptr<Delivery> delivery;
  std::atomic<bool> stopping{false};
  std::atomic<Delivery*> running{nullptr};

  Clock::time_point started, window_began, progress_shown;
  Clock::duration waited{}, waited_before_window{};
  uint64_t rows_done = 0, rows_before_window = 0;
  int64_t last_batch = 0;
  StepReport report;
};

void Trainer::Impl::build_model() {
  std::vector<std::string> names;
  model.emplace(
      Model::build({.layers = std::move(config.layers), .inputs = model_inputs(rows), .seed = config.seed}, context));
  for (const Model::Node& node : model->nodes()) names.push_back(node.name);
  complete_resolved(config, graph.resolved(), names);
  try {
    step = std::make_unique<TrainStep>(StepArgs{.model = *model,
                                                .context = context,
                                                .loss = *config.loss.loss,
                                                .optimizer = *config.optimizer,
                                                .rows = rows,
                                                .label = config.loss.label,
                                                .weight = config.loss.weight,
                                                .metrics = &config.metrics});
  } catch (ConfigError& error) {
    error.set_place(config.loss.spec.place());
    throw;
  }
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
  return Trainer(std::move(impl));
}

Trainer Trainer::from_file(const std::string& path, std::span<const std::string> overrides) {
  Spec spec = read_yaml_file(path);
  apply_overrides(spec, overrides);
  return from_spec(std::move(spec));
}

Trainer::Trainer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

const Config& Trainer::config() const { return impl_->config; }
Model& Trainer::model() { return *impl_->model; }
const InputGraph& Trainer::input() const {
  return impl_->delivery ? impl_->delivery->pipeline().graph() : impl_->graph;
}
const std::vector<std::string>& Trainer::warnings() const { return impl_->warnings; }
int64_t Trainer::steps() const { return static_cast<int64_t>(impl_->step->steps()); }

uint64_t Trainer::memory_bound() const {
  const FloatMode mode;
  const Impl& impl = *impl_;
  const uint64_t batch_bytes = static_cast<uint64_t>(impl.batch_size) * (impl.rows.row_bytes() + sizeof(RowId));
  // The model, and its copy on the host when it is hashed or saved.
  const uint64_t model_bytes = 2 * impl.model->bytes();
  return input().memory_bound(impl.executor.threads()) + kMostSlots * batch_bytes + model_bytes +
         impl.step->memory_bound(impl.batch_size) + shared_gemm_bytes(impl.context.device());
}

void Trainer::Impl::begin(const TrainCallbacks& callbacks) {
  if (delivery) throw InternalError("a trainer runs once", {}, "make another one from the same configuration");
  const auto log = [&callbacks](std::string_view text) {
    if (callbacks.on_log) callbacks.on_log(text);
  };
  if (callbacks.on_start) {
    callbacks.on_start({.device = context.device().text(),
                        .threads = executor.threads(),
                        .parameters = model->parameter_count(),
                        .batch_size = batch_size,
                        .steps = config.train.steps});
  }
  for (const std::string& warning : warnings) log(cat("warning: ", warning));
  PipelineOptions options;
  options.on_bad_row = [log](const BadRow& bad) { log(cat("left out ", bad.place.text(), ": ", bad.reason)); };
  options.on_print = log;
  options.pinned = !context.device().is_cpu();
  delivery =
      Delivery::make(std::move(graph), {.kind = config.delivery, .executor = executor, .pipeline = std::move(options)});
  running.store(delivery.get());
  step->prepare(batch_size);
  for (const NamedMetric& metric : config.metrics) report.metrics.emplace_back(metric.name, 0.0);
  started = window_began = progress_shown = Clock::now();
}

const RowBlock* Trainer::Impl::next_batch() {
  const Clock::time_point before = Clock::now();
  const RowBlock* batch = delivery->next();
  waited += Clock::now() - before;
  return batch;
}

void Trainer::Impl::train_on(const RowBlock& batch, const TrainCallbacks& callbacks) {
  try {
    executor.run([&] { step->run(batch); });
  } catch (DataError& error) {
    if (step->error_row() >= 0) error.set_place(delivery->pipeline().place(batch.id(step->error_row())));
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
  out.input = delivery->pipeline().summary();
  out.epochs = out.input.passes;
  return out;
}

TrainResult Trainer::run(const TrainCallbacks& callbacks) {
  const FloatMode mode;
  Impl& impl = *impl_;
  impl.begin(callbacks);
  const auto finished = [&] { return impl.config.train.steps && steps() >= *impl.config.train.steps; };
  while (!finished() && !impl.stopping.load()) {
    const RowBlock* batch = impl.next_batch();
    if (batch == nullptr) return impl.result(impl.stopping.load() ? "stopped" : "end of data");
    impl.train_on(*batch, callbacks);
  }
  return impl.result(finished() ? "steps" : "stopped");
}

void Trainer::stop() noexcept {
  impl_->stopping.store(true);
  if (Delivery* delivery = impl_->running.load()) delivery->stop();
}

void Trainer::save(const std::string& path) {
  const FloatMode mode;
  save_model(path, *impl_->model, impl_->context, impl_->config.resolved);
}

}  // namespace millrace
