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
#include "millrace/trainer/model_warnings.h"
#include "millrace/trainer/nonfinite.h"
#include "millrace/trainer/overrides.h"
#include "millrace/trainer/saved_model.h"
#include "millrace/trainer/step.h"
#include "millrace/trainer/step_inputs.h"
#include "millrace/trainer/validator.h"
#include "millrace/trainer/yaml.h"
#include "millrace/trainer/yaml_writer.h"

namespace millrace {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kProgressInterval = std::chrono::milliseconds(100);

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
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
  void build_validation(const OpRegistry& registry);
  void check_save() const;
  Spec kept_config() const;
  void begin(const TrainCallbacks& given);
  TrainResult train();
  const RowBlock* next_batch();
  void train_on(const RowBlock& batch);
  void flush();
  void take_outcome(StepOutcome outcome, const RowBlock* batch);
  DataError not_finite(int64_t number, double loss, const RowBlock* batch) const;
  OptimizerState optimizer_state();
  void load();
  void save(const std::string& path);
  void fill_report(const RowBlock& batch, Clock::time_point now);
  bool validation_is_due() const;
  void validate();
  void end_validation(TrainResult& result);
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
  std::unique_ptr<Validator> validator;  // with a key `validation`
  std::vector<std::string> warnings;
  std::atomic<bool> stopping{false};

  bool begun = false;
  TrainCallbacks callbacks;  // given to run()

  Clock::time_point started, window_began, progress_shown;
  Clock::duration waited{}, waited_before_window{};
  bool warned_of_nonfinite = false, window_ended = false;
  int64_t steps_done = 0, skipped_steps = 0;
  uint64_t rows_done = 0, rows_before_window = 0;
  int64_t last_batch = 0;
  uint64_t last_epoch = 0, validated_updates = 0;
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
      {.layers = std::move(config.layers), .inputs = named_specs(input().rows), .seed = config.seed}, context));
  for (const Model::Node& node : model->nodes()) names.push_back(node.name);
  complete_resolved(config, delivery->graph().resolved(), names);
  for (std::string& warning : model_warnings(config.resolved, model->parameters())) {
    warnings.push_back(std::move(warning));
  }
  try {
    step = std::make_unique<TrainStep>(StepArgs{.model = *model,
                                                .context = context,
                                                .loss = *config.loss.loss,
                                                .optimizer = *config.optimizer,
                                                .rows = input().rows,
                                                .label = config.loss.label,
                                                .weight = config.loss.weight,
                                                .metrics = &config.metrics,
                                                .gradients = config.train.gradients(),
                                                .window = config.train.report_over == ReportOver::window});
  } catch (ConfigError& error) {
    error.set_place(config.loss.spec.place());
    throw;
  }
}

void Trainer::Impl::build_validation(const OpRegistry& registry) {
  if (!config.validation) return;
  validator = std::make_unique<Validator>(ValidatorArgs{.config = config,
                                                        .registry = registry,
                                                        .model = *model,
                                                        .context = context,
                                                        .on_print = [this](std::string_view text) { log(text); }});
  if (!config.validation->files) config.resolved.find("validation")->set("input", validator->input().resolved());
  const InputFiles training = delivery->graph().files(), validating = validator->input().files();
  for (const std::string& path : training.written) {
    const std::string loss = would_overwrite(path, validating, {});
    if (!loss.empty()) throw config.input.error(cat("writing ", quote(path, 4096), ' ', loss), "give it another name");
  }
  warnings.insert(warnings.end(), validator->warnings().begin(), validator->warnings().end());
  if (config.save && config.save->optimizer && config.validation->keep_best) {
    warnings.push_back("save keeps the optimizer's state of the last step beside the best validation's parameters");
  }
  const std::string shared = first_shared(training.read, validating.read);
  if (shared.empty()) return;
  warnings.push_back(cat("validation reads ", quote(shared, 4096),
                         ", which the training reads, too: what was learned by heart looks good there"));
}

// Finds out before the training that its model could not be kept.
void Trainer::Impl::check_save() const {
  if (!config.save) return;
  const std::string& file = config.save->file;
  std::string loss = would_overwrite(file, delivery->graph().files(), config.written.place().file);
  if (loss.empty() && validator) loss = would_overwrite(file, validator->input().files(), {});
  if (!loss.empty()) throw config.node("save").error(loss, "give it another name");
  check_writable(file);
  to_yaml(kept_config());  // throws for texts that YAML cannot hold
}

// What a model file says of its making: where it was saved to and what it began with is nothing to whoever reads it.
Spec Trainer::Impl::kept_config() const {
  Spec kept = config.resolved;
  kept.erase("save");
  kept.erase("load");
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
  impl->load();
  impl->build_validation(catalog.ops);
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
const InputGraph* Trainer::validation_input() const { return impl_->validator ? &impl_->validator->input() : nullptr; }
const std::vector<std::string>& Trainer::warnings() const { return impl_->warnings; }
int64_t Trainer::steps() const { return impl_->steps_done; }

uint64_t Trainer::memory_bound() const {
  const FloatMode mode;
  const Impl& impl = *impl_;
  // The model, and its copy on the host when it is hashed or saved.
  const uint64_t model_bytes = 2 * impl.model->bytes();
  return impl.delivery->memory_bound() + model_bytes + impl.step->memory_bound(impl.input().batch_size) +
         (impl.validator ? impl.validator->memory_bound() : 0) + shared_gemm_bytes(impl.context.device());
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
  if (validator) validator->prepare();
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
  // Not before there is another batch: the result reports the last window, too.
  if (std::exchange(window_ended, false)) step->start_window();
  StepOutcome outcome = StepOutcome::trained;
  try {
    executor.run([&] { outcome = step->run(batch); });
  } catch (DataError& error) {
    if (step->error_row() >= 0) error.set_place(delivery->place(batch.id(step->error_row())));
    throw;
  }
  take_outcome(outcome, &batch);
  ++steps_done;
  last_batch = batch.size();
  if (validator) last_epoch = epoch_of(batch);
  rows_done += static_cast<uint64_t>(batch.size());
  const bool report_now = steps_done % config.train.log_every == 0, log_now = callbacks.on_step && report_now;
  const Clock::time_point now = Clock::now();
  const bool show_now = callbacks.on_progress && now - progress_shown >= kProgressInterval;
  const bool may_warn = config.train.on_nonfinite == OnNonfinite::warn && !warned_of_nonfinite;
  if (may_warn && (log_now || show_now || context.device().is_cpu())) {
    const double loss = step->loss();
    warned_of_nonfinite = !std::isfinite(loss);
    if (warned_of_nonfinite) log(cat("warning: ", not_finite(steps_done, loss, &batch).what()));
  }
  // Whether anybody listens does not change what the result says.
  if (report_now) window_ended = true;
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

void Trainer::Impl::take_outcome(StepOutcome outcome, const RowBlock* batch) {
  if (outcome == StepOutcome::trained) return;
  const double loss = outcome == StepOutcome::loss_not_finite ? step->batch_loss() : 0;
  const int64_t number = steps_done + (batch != nullptr ? 1 : 0);
  // A gradient of several batches says nothing of the last one's rows.
  if (outcome == StepOutcome::gradient_not_finite && config.train.accumulate > 1) batch = nullptr;
  const DataError error = not_finite(number, loss, batch);
  if (config.train.on_nonfinite == OnNonfinite::fail) throw error;
  log(cat("warning: skipped ", error.what()));
}

// Step `number`'s batch is null where it is gone.
DataError Trainer::Impl::not_finite(int64_t number, double loss, const RowBlock* batch) const {
  std::vector<std::string> fields;
  for (const NamedSpec& field : model->fields()) fields.push_back(field.name);
  fields.push_back(config.loss.label);
  if (!config.loss.weight.empty()) fields.push_back(config.loss.weight);
  return nonfinite_error(
      {.step = number, .loss = loss, .batch = batch, .fields = fields, .place = [this](const RowId& id) {
         return delivery->place(id);
       }});
}

// The batches that an update still misses make one at the end of the training.
void Trainer::Impl::flush() {
  StepOutcome outcome = StepOutcome::trained;
  executor.run([&] { outcome = step->flush(); });
  take_outcome(outcome, nullptr);
}

OptimizerState Trainer::Impl::optimizer_state() {
  const Spec* node = std::as_const(config.resolved).find("optimizer");
  return {.kind = kind_and_options(*node, "an optimizer").kind,
          .steps = step->steps(),
          .updates = step->updates(),
          .slots = step->slots()};
}

void Trainer::Impl::load() {
  if (!config.load) return;
  const ModelFile file = ModelFile::read(config.load->file);
  load_model(file, *model, context);
  if (!config.load->optimizer) return;
  OptimizerState state = optimizer_state();
  load_optimizer(file, *model, context, state);
  step->resume(state.steps, state.updates);
}

void Trainer::Impl::save(const std::string& path) {
  if (!config.save || !config.save->optimizer) return save_model(path, *model, context, kept_config());
  const OptimizerState state = optimizer_state();
  save_model(path, *model, context, kept_config(), &state);
}

void Trainer::Impl::fill_report(const RowBlock& batch, Clock::time_point now) {
  report.step = steps_done;
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

bool Trainer::Impl::validation_is_due() const { return validator && steps_done % config.validation->every == 0; }

void Trainer::Impl::validate() {
  const Clock::time_point before = Clock::now();
  const auto done = validator->run(steps_done, last_epoch);
  validated_updates = step->updates();
  if (done && callbacks.on_validation) callbacks.on_validation(*done);
  window_began += Clock::now() - before;  // the rates of reports are those of the training
}

// The validation behind the last step, or the update behind it, and the best model where it is kept.
void Trainer::Impl::end_validation(TrainResult& result) {
  const bool up_to_date = validator->validated() == steps_done && validated_updates == step->updates();
  if (!stopping.load() && steps_done > 0 && !up_to_date) validate();
  if (!config.validation->keep_best) return;
  result.best = validator->put_back_best();
  if (!result.best && validator->validated() >= 0) {
    log(cat("warning: no validation had a number for ", config.validation->watched(),
            ": the model is that of the last step"));
  }
}

TrainResult Trainer::Impl::result(std::string reason) {
  TrainResult out;
  if (validator) end_validation(out);
  out.reason = std::move(reason);
  out.steps = steps_done;
  out.skipped_steps = static_cast<int64_t>(step->skipped());
  out.rows = rows_done;
  out.seconds = seconds_between(started, Clock::now());
  out.last_batch = last_batch;
  out.window = config.train.report_over == ReportOver::window;
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
  const auto finished = [&] { return config.train.steps && steps_done >= *config.train.steps; };
  while (!finished() && !stopping.load()) {
    const RowBlock* batch = next_batch();
    if (batch == nullptr) {
      if (stopping.load()) break;
      if (steps_done == 0) log("warning: the data ended before the first batch: nothing was trained");
      flush();
      return result("end of data");
    }
    train_on(*batch);
    if (validation_is_due()) validate();
    if (validator && validator->gave_up() && !finished()) {
      flush();
      return result("no improvement");
    }
  }
  flush();
  return result(finished() ? "steps" : "stopped");
}

TrainResult Trainer::run(const TrainCallbacks& callbacks) {
  const FloatMode mode;
  impl_->begin(callbacks);
  TrainResult result = impl_->train();
  if (config().save) {
    impl_->save(config().save->file);
    result.saved = config().save->file;
  }
  return result;
}

void Trainer::stop() noexcept {
  impl_->stopping.store(true);
  impl_->delivery->stop();
  if (impl_->validator) impl_->validator->stop();
}

void Trainer::save(const std::string& path) {
  const FloatMode mode;
  impl_->save(path);
}

}  // namespace millrace
