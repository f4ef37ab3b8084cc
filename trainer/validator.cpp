#include "millrace/trainer/validator.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/mutex.h"
#include "millrace/core/text.h"
#include "millrace/trainer/input/pass_input.h"
#include "millrace/trainer/step/model_copy.h"

namespace millrace {

namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

struct Validator::Impl {
  explicit Impl(const ValidatorArgs& args);
  InputGraph build() const {
    return build_pass(
        pass,
        {.list = pass.list, .registry = registry, .seed = config.seed, .config_file = config.written.place().file});
  }
  InputGraph build_again() const;
  PassArgs pass_args() const;
  void make_evaluator();
  bool evaluate();
  void judge(ValidationReport& report);

  const Config& config;
  const ValidationOptions& options;
  const OpRegistry registry;
  Model& model;
  Context& context;
  const std::function<void(std::string_view)> on_print;
  const PassInput pass;
  const InputGraph graph;
  const std::string watched;
  const bool more_is_better;
  std::vector<std::string> warnings;
  std::unique_ptr<Evaluator> evaluator;
  std::optional<ModelCopy> best_model;  // with keep_best

  int64_t validated = -1;
  std::optional<BestStep> best;
  int64_t without_improvement = 0;

  Mutex mutex;
  bool stopped MILLRACE_GUARDED_BY(mutex) = false;
  Pipeline* running MILLRACE_GUARDED_BY(mutex) = nullptr;
};

Validator::Impl::Impl(const ValidatorArgs& args)
    : config(args.config),
      options(*args.config.validation),
      registry(args.registry),
      model(args.model),
      context(args.context),
      on_print(args.on_print),
      pass(pass_input(pass_args())),
      graph(build()),
      watched(options.watched()),
      more_is_better(options.more_is_better()) {
  if (graph.reads_once()) {
    throw config.node("validation")
        .error(
            "a validation reads its rows again and again, but standard input, pipes and rows of a callback can "
            "be read once",
            "write them to a file first");
  }
  if (!pass.left_out.empty() && !options.input.is_null()) {
    warnings.push_back(cat("validation reads its rows once, in order, and leaves out ", join(pass.left_out)));
  }
  for (const std::string& warning : graph.warnings()) warnings.push_back(cat("validation: ", warning));
  make_evaluator();
  if (options.keep_best) best_model.emplace(model, context);
}

PassArgs Validator::Impl::pass_args() const {
  if (!options.input.is_null()) return {.input = options.input, .registry = registry};
  if (options.held_out) return {.input = config.input, .registry = registry, .side = Side::held_out};
  return {.input = config.input, .registry = registry, .files = *config.node("validation").find("files")};
}

void Validator::Impl::make_evaluator() {
  try {
    evaluator = std::make_unique<Evaluator>(EvaluatorArgs{.model = model,
                                                          .context = context,
                                                          .rows = graph.output().rows,
                                                          .loss = config.loss.loss.get(),
                                                          .label = config.loss.label,
                                                          .weight = config.loss.weight,
                                                          .metrics = &config.metrics});
  } catch (ConfigError& error) {
    const Spec& node = options.input.is_null() ? config.node("validation") : options.input;
    error.add_context(node.path());
    error.set_place(node.place());
    throw;
  }
}

// What was there before the first step and is gone now is a failure of the run.
InputGraph Validator::Impl::build_again() const {
  try {
    return build();
  } catch (const MissingError& error) {
    throw IoError(error.message(), error.place(), error.hint());
  }
}

// Adds every row to the evaluator. False when stopped.
bool Validator::Impl::evaluate() {
  evaluator->reset();
  PipelineOptions pipeline_options;
  pipeline_options.executor = &context.executor();
  pipeline_options.on_print = on_print;
  pipeline_options.on_bad_row = pass.on_bad_row();
  pipeline_options.reader = context.device();
  pipeline_options.trace = context.executor().trace();
  Pipeline pipeline(build_again(), std::move(pipeline_options));
  RowBlock batch = pipeline.make_slot();
  struct Registered {
    Registered(Impl& owner, Pipeline& pipeline) : impl(owner) {
      const MutexLock lock(impl.mutex);
      impl.running = &pipeline;
      if (impl.stopped) pipeline.cancel();
    }
    ~Registered() {
      const MutexLock lock(impl.mutex);
      impl.running = nullptr;
    }
    Impl& impl;
  } const registered(*this, pipeline);
  try {
    while (pipeline.next(batch) > 0) context.executor().run([&] { evaluator->add(batch); });
  } catch (DataError& error) {
    if (evaluator->error_row() >= 0) error.set_place(pipeline.place(batch.id(evaluator->error_row())));
    throw;
  }
  return !pipeline.cancelled();
}

// Finds out whether it is the best one so far.
void Validator::Impl::judge(ValidationReport& report) {
  double value = report.loss;
  for (const auto& [name, metric] : report.metrics) {
    if (name == watched) value = metric;
  }
  // A model that gives NaN or more than can be counted is no good, whatever a metric makes of it.
  const bool usable = std::isfinite(report.loss) && std::isfinite(value);
  report.best = usable && (!best || (more_is_better ? value > best->value : value < best->value));
  without_improvement = report.best ? 0 : without_improvement + 1;
  if (!report.best) return;
  best = {report.step, watched, value};
  if (best_model) best_model->take();
}

Validator::Validator(const ValidatorArgs& args) : impl_(std::make_unique<Impl>(args)) {}
Validator::~Validator() = default;

const InputGraph& Validator::input() const { return impl_->graph; }
const std::vector<std::string>& Validator::warnings() const { return impl_->warnings; }

uint64_t Validator::memory_bound() {
  const Port& output = impl_->graph.output();
  const auto rows = static_cast<uint64_t>(output.batch_size);
  return impl_->graph.memory_bound(impl_->context.executor().threads()) +
         rows * (output.rows.row_bytes() + sizeof(RowId)) + impl_->evaluator->memory_bound(output.batch_size) +
         (impl_->best_model ? impl_->best_model->bytes() : 0);
}

void Validator::prepare() { impl_->evaluator->prepare(impl_->graph.output().batch_size); }

std::optional<ValidationReport> Validator::run(int64_t step, uint64_t epoch) {
  const Clock::time_point start = Clock::now();
  if (!impl_->evaluate()) return {};
  if (impl_->evaluator->rows() == 0) {
    throw DataError(
        "the validation has no rows", impl_->config.node("validation").place(),
        impl_->options.held_out ? "hold_out held none of them out: give it a larger share" : "look into its files");
  }
  ValidationReport report;
  report.step = impl_->validated = step;
  report.epoch = epoch;
  report.rows = impl_->evaluator->rows();
  report.loss = impl_->evaluator->loss();
  report.metrics = impl_->evaluator->metrics();
  impl_->judge(report);
  report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return report;
}

int64_t Validator::validated() const { return impl_->validated; }

bool Validator::gave_up() const {
  return impl_->options.patience && impl_->without_improvement >= *impl_->options.patience;
}

std::optional<BestStep> Validator::put_back_best() {
  if (!impl_->best || !impl_->best_model) return {};
  impl_->best_model->give_back();
  return impl_->best;
}

void Validator::stop() noexcept {
  const MutexLock lock(impl_->mutex);
  impl_->stopped = true;
  if (impl_->running != nullptr) impl_->running->cancel();
}

}  // namespace millrace
