#include "millrace/trainer/trainer.h"

#include <exception>
#include <utility>

#include "millrace/core/context.h"
#include "millrace/core/cuda/backend.h"
#include "millrace/core/errors.h"
#include "millrace/core/kernels/gemm.h"
#include "millrace/core/registry.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/float_mode.h"
#include "millrace/core/threads/stop_gate.h"
#include "millrace/core/trace.h"
#include "millrace/input/files/atomic_file.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/checkpoints.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/config/model_warnings.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/delivery/delivery.h"
#include "millrace/trainer/files/files_in_use.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/input/build_input.h"
#include "millrace/trainer/step/step.h"
#include "millrace/trainer/step/step_inputs.h"
#include "millrace/trainer/training_files.h"
#include "millrace/trainer/training_loop.h"
#include "millrace/trainer/validation.h"

namespace millrace {

namespace {

#ifdef MILLRACE_WITHOUT_CHECKPOINTS
constexpr bool kCheckpoints = false;
#else
constexpr bool kCheckpoints = true;
#endif

}  // namespace

struct Trainer::Impl {
  Impl(Config read_config, InputGraph graph, Device device, const Catalog& given_catalog, Trace* given)
      : config(std::move(read_config)),
        catalog(given_catalog),
        // A trace that records nothing still shows a profiler the ranges.
        own_trace(given == nullptr && cuda::profiler_attached() ? std::make_unique<Trace>(0) : nullptr),
        trace(own_trace ? own_trace.get() : given),
        executor(config.threads, trace),
        context(device, executor, config.precision),
        delivery(Delivery::make(
            config.delivery, std::move(graph),
            {.executor = executor, .pipeline = pipeline_options(), .saves = config.checkpoint.has_value()})),
        warnings(delivery->warnings()) {}

  // Tasks may still run functions of the program that stop this training, so nothing may be stopped any more when its
  // parts begin to go.
  ~Impl() {
    gate.stop();
    delivery->stop();
    gate.close();
  }

  PipelineOptions pipeline_options();
  void build_model();
  void build_validation(const std::shared_ptr<Workers>& workers);
  void build_loop();
  void warn_of_endlessness();
  void build_checkpoints();
  TrainResult train(const TrainCallbacks& given);
  void load();

  const Port& input() const { return delivery->graph().output(); }
  void log(std::string_view text) const {
    if (loop) loop->log(text);
  }
  void warn(const std::string& text) const { log(cat("warning: ", text)); }

  StopGate gate;  // first, so that it outlives the tasks
  Config config;
  const Catalog catalog;
  const std::unique_ptr<Trace> own_trace;
  Trace* const trace;  // null: nothing is traced
  Executor executor;
  Context context;
  std::unique_ptr<Delivery> delivery;
  std::optional<Model> model;  // made by build_model()
  std::unique_ptr<TrainStep> step;
  std::optional<TrainingFiles> files;
  std::unique_ptr<Validation> validator;  // with a key `validation`
  std::vector<std::string> warnings;
  std::unique_ptr<TrainingLoop> loop;
  std::unique_ptr<Checkpoints> checkpoints;  // with a key `checkpoint`; made last
  std::optional<ResumeReport> resumed;
  std::exception_ptr not_loaded;              // why there is no file of the key `load`
  const TrainCallbacks* callbacks = nullptr;  // while run() runs
};

PipelineOptions Trainer::Impl::pipeline_options() {
  return {.on_bad_row = [this](const BadRow& bad) { log(cat("left out ", bad.place.text(), ": ", bad.reason)); },
          .on_print = [this](std::string_view text) { log(text); },
          .reader = context.device(),
          .trace = trace};
}

void Trainer::Impl::build_model() {
  std::vector<std::string> names;
  model.emplace(Model::build(
      {.layers = std::move(config.layers), .inputs = named_specs(input().rows), .seed = config.seed}, context));
  if (model->parameters().empty()) {
    throw config.node("model").error("the model has no parameters, so there is nothing to train",
                                     "add a layer that learns, such as dense");
  }
  for (const Model::Node& node : model->nodes()) names.push_back(node.name);
  complete_resolved(config, delivery->graph().resolved(), names);
  try {
    step = TrainStep::make({.model = *model,
                            .context = context,
                            .loss = *config.loss.loss,
                            .optimizer = *config.optimizer,
                            .rows = input().rows,
                            .label = config.loss.label,
                            .weight = config.loss.weight,
                            .metrics = &config.metrics,
                            .gradients = config.train.gradients(),
                            .window_batches = config.train.window_batches(),
                            .batches_in_flight = delivery->kept(),
                            .one_batch = delivery->repeats()});
  } catch (ConfigError& error) {
    error.set_place(config.loss.spec.place());
    throw;
  }
  files.emplace(TrainingFilesArgs{.config = config,
                                  .input = delivery->graph(),
                                  .step = *step,
                                  .context = context,
                                  .on_warning = [this](const std::string& text) { warn(text); }});
  const ModelFacts facts{.parameters = model->parameters(), .prediction = model->output(), .label = step->label()};
  for (std::string& warning : model_warnings(config, catalog.layers, facts)) warnings.push_back(std::move(warning));
  std::vector<std::string> readers = {config.loss.label, config.loss.weight};
  for (const NamedSpec& field : model->fields()) readers.push_back(field.name);
  std::string unread = warning_of_unread_fields(delivery->graph(), readers);
  if (!unread.empty()) warnings.push_back(std::move(unread));
}

void Trainer::Impl::build_validation(const std::shared_ptr<Workers>& workers) {
  if (!config.validation) return;
  validator = std::make_unique<Validation>(ValidationArgs{.config = config,
                                                          .registry = catalog.ops,
                                                          .model = *model,
                                                          .context = context,
                                                          .found = &delivery->graph().found(),
                                                          .workers = workers,
                                                          .on_print = [this](std::string_view text) { log(text); }});
  if (!config.validation->input.is_null())
    config.resolved.find("validation")->set("input", validator->input().resolved());
  const InputFiles training = delivery->graph().files(), validating = validator->input().files();
  for (const std::string& path : training.written) {
    const std::string loss = would_overwrite(path, validating, {});
    if (!loss.empty()) throw config.input.error(cat("writing ", quote(path, 4096), ' ', loss), "give it another name");
  }
  warnings.insert(warnings.end(), validator->warnings().begin(), validator->warnings().end());
  if (config.save && config.save->optimizer && config.validation->keep_best) {
    warnings.push_back("save keeps the optimizer's state of the last step, but the parameters of the best validation");
  }
  const std::string shared = first_shared(training.read, validating.read);
  if (shared.empty() || config.validation->held_out) return;
  warnings.push_back(cat("validation reads ", quote(shared, 4096),
                         ", which the training reads, too: what was learned by heart looks good there"));
}

void Trainer::Impl::build_loop() {
  loop = std::make_unique<TrainingLoop>(TrainingLoopArgs{
      .config = config,
      .context = context,
      .delivery = *delivery,
      .step = *step,
      .validator = validator.get(),
      .keep_last = [this] { files->keep_last(); },
      .at_border = [this](bool ends) { return !checkpoints || checkpoints->at_border(loop->steps(), ends); }});
  gate.open([this] { loop->stop(); });
}

void Trainer::Impl::build_checkpoints() {
  if (!config.checkpoint) return;
  if constexpr (!kCheckpoints) {
    throw config.node("checkpoint").error(left_out_text("checkpoint", "checkpoints"), left_out_hint("checkpoints"));
  } else {
    CudaNeeds needs;
    for (const Model::Node& node : model->nodes()) needs.convolutions |= attributed(*node.layer, &Layer::convolves);
    checkpoints = Checkpoints::make(
        {.config = config,
         .catalog = catalog,
         .context = context,
         .parts =
             {.context = context, .step = *step, .loop = *loop, .delivery = *delivery, .validation = validator.get()},
         .metadata = files->checkpoint_metadata(),
         .loss = [this] { return step->loss(); },
         .written = delivery->graph().files().written,
         .needs = needs,
         .on_written =
             [this](const CheckpointReport& report) {
               if (callbacks->on_checkpoint) callbacks->on_checkpoint(report);
             },
         .on_warning = [this](const std::string& text) { warn(text); }});
  }
}

void Trainer::Impl::warn_of_endlessness() {
  const bool may_give_up = config.validation && config.validation->patience;
  if (config.train.steps || may_give_up) return;
  if (config.delivery.kind == DeliveryKind::constant) {
    warnings.push_back("delivery constant never ends, and neither does the training: set train.steps");
    return;
  }
  const std::string source = delivery->graph().endless_source();
  if (source.empty()) return;
  warnings.push_back(cat("the data of ", source, " never end, and neither does the training: say how much it gives ",
                         "(epochs, rows), or set train.steps"));
}

Trainer Trainer::from_spec(Spec spec, const Catalog& catalog, Trace* trace) {
  const FloatMode mode;
  Config config = read_config(spec, catalog);
  std::vector<std::string> warnings;
  const Device device = device_of(config, warnings);
  const std::shared_ptr<Workers> workers = workers_of(config);
  InputGraph graph = build_input(config, catalog, workers);
  if (config.checkpoint) check_checkpoint(config.node("checkpoint"), graph, config.delivery);
  auto impl = std::make_unique<Impl>(std::move(config), std::move(graph), device, catalog, trace);
  impl->warnings.insert(impl->warnings.end(), warnings.begin(), warnings.end());
  impl->build_model();
  impl->warn_of_endlessness();
  impl->load();
  impl->build_validation(workers);
  impl->files->check_save(impl->validator ? impl->validator->input().files() : InputFiles());
  impl->build_loop();
  impl->build_checkpoints();
  return Trainer(std::move(impl));
}

Trainer Trainer::from_file(const std::string& path, std::span<const std::string> overrides, const Catalog& catalog,
                           Trace* trace) {
  Spec spec = read_yaml_file(path);
  apply_overrides(spec, overrides, catalog);
  return from_spec(std::move(spec), catalog, trace);
}

Trainer Trainer::from_string(std::string_view text, const std::string& name, std::span<const std::string> overrides,
                             const Catalog& catalog, Trace* trace) {
  Spec spec = parse_yaml(text, name);
  apply_overrides(spec, overrides, catalog);
  return from_spec(std::move(spec), catalog, trace);
}

Trainer::Trainer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

const Spec& Trainer::resolved() const { return impl_->config.resolved; }
const Config& Trainer::config() const { return impl_->config; }
Model& Trainer::model() { return impl_->step->model(); }
const InputGraph& Trainer::input() const { return impl_->delivery->graph(); }
const InputGraph* Trainer::validation_input() const { return impl_->validator ? &impl_->validator->input() : nullptr; }
const std::vector<std::string>& Trainer::warnings() const { return impl_->warnings; }
int64_t Trainer::steps() const { return impl_->loop->steps(); }

uint64_t Trainer::memory_bound() const {
  const FloatMode mode;
  const Impl& impl = *impl_;
  // The model, and its copy on the host when it is hashed or saved; one more of the last model while the best is saved.
  const bool two_files = impl.config.save && impl.config.validation && impl.config.validation->keep_best;
  const uint64_t model_bytes = (two_files ? 3 : 2) * impl.model->bytes();
  const uint64_t step = impl.step->memory_bound(impl.input().batch_size);  // first: the others ask for what it plans
  return impl.delivery->memory_bound() + model_bytes + step + (impl.validator ? impl.validator->memory_bound() : 0) +
         (impl.checkpoints ? impl.checkpoints->memory_bound() : 0) + shared_workspace_bytes(impl.context.device());
}

void Trainer::Impl::load() {
  try {
    files->load();
  } catch (const MissingError&) {
    // A training that goes on does not need what it began with.
    if (!config.checkpoint) throw;
    not_loaded = std::current_exception();
  }
}

TrainResult Trainer::Impl::train(const TrainCallbacks& given) {
  loop->require_first_run();
  if (not_loaded && !resumed) std::rethrow_exception(not_loaded);
  std::vector<std::string> found;
  TrainCallbacks all = given;
  all.on_start = [&](const StartReport& report) {
    if (given.on_start) given.on_start(report);
    for (const std::string& warning : warnings) warn(warning);
    if (resumed && given.on_resume) given.on_resume(*resumed);
    for (const std::string& warning : found) warn(warning);
    if (!resumed) return;
    for (const std::string& warning : resumed->warnings) warn(warning);
    for (const std::string& note : resumed->notes) log(cat("note: ", note));
  };
  callbacks = &all;
  TrainResult result;
  try {
    if (checkpoints) found = checkpoints->begin();
    result = loop->run(all);
  } catch (...) {
    if (checkpoints) checkpoints->end();
    throw;
  }
  if (resumed) result.resumed = resumed->step;
  if (!checkpoints) return result;
  result.checkpoints = checkpoints->summary();
  checkpoints->end();
  return result;
}

std::optional<ResumeReport> Trainer::resume(const std::string& file) {
  const FloatMode mode;
  if (!impl_->checkpoints) {
    throw ConfigError("a training without the key checkpoint cannot be resumed", config().written.place(),
                      "set checkpoint.dir");
  }
  impl_->loop->require_first_run();
  return impl_->resumed = impl_->checkpoints->resume(file);
}

void Trainer::checkpoint() noexcept {
  if (impl_->checkpoints) impl_->checkpoints->ask();
}

void Trainer::appends_to(const std::string& path) {
  if (impl_->checkpoints) impl_->checkpoints->appends_to(path);
}

TrainResult Trainer::run(const TrainCallbacks& callbacks) {
  const FloatMode mode;
  if (impl_->trace != nullptr) impl_->trace->name_thread("training");
  TrainResult result = impl_->train(callbacks);
  if (config().save) {
    save(config().save->file);
    result.saved = config().save->file;
    result.saved_last = impl_->files->save_last();
  }
  return result;
}

std::optional<BestStep> Trainer::put_back_best() {
  const FloatMode mode;
  model();  // launches what waits
  return impl_->validator ? impl_->validator->put_back_best() : std::nullopt;
}

void Trainer::stop() noexcept { impl_->gate.stop(); }

void Trainer::save(const std::string& path) {
  const FloatMode mode;
  const TraceRange range(impl_->trace, "step", "save");
  impl_->files->pack(path).write();
}

Network Trainer::network(const NetworkOptions& options) {
  const FloatMode mode;
  return Network(impl_->files->pack_without_optimizer("the trainer's model"), options, impl_->catalog);
}

void write_trace(const Trace& trace, const std::string& path) {
  AtomicFile file(path);
  trace.write([&file](std::string_view piece) { file.write(piece); });
  file.commit();
}

}  // namespace millrace
