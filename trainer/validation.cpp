#include "millrace/trainer/validation.h"

#include <cmath>
#include <utility>

#include "millrace/core/clock.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/run/unit_decoder.h"

namespace millrace {

namespace {

class OpenGate {
 public:
  OpenGate(StopGate& gate, std::function<void()> stop) : gate_(gate) { gate_.open(std::move(stop)); }
  ~OpenGate() { gate_.close(); }
  OpenGate(const OpenGate&) = delete;
  OpenGate& operator=(const OpenGate&) = delete;

 private:
  StopGate& gate_;
};

std::shared_ptr<Workers> another(const std::shared_ptr<Workers>& workers) {
  return workers ? workers->for_another_graph() : nullptr;
}

}  // namespace

Validation::Validation(const ValidationArgs& args)
    : args_(args),
      options_(*args.config.validation),
      pass_(pass_input(pass_args())),
      graph_(build(another(args.workers))) {
  if (graph_.reads_once()) {
    throw args_.config.node("validation")
        .error(
            "a validation reads its rows again and again, but standard input, pipes and rows of a callback can be read "
            "only once",
            "write them to a file first");
  }
  if (!pass_.left_out.empty() && !options_.input.is_null()) {
    warnings_.push_back(cat("validation reads its rows once, in order, and leaves out ", join(pass_.left_out)));
  }
  for (const std::string& warning : graph_.warnings()) warnings_.push_back(cat("validation: ", warning));
  make_plan();
  if (options_.keep_best) best_model_.emplace(args.model, args_.context);
}

PassArgs Validation::pass_args() const {
  PassArgs pass{.input = options_.input.is_null() ? args_.config.input : options_.input,
                .registry = args_.registry,
                .found = args_.found,
                .held_out = options_.input.is_null() && options_.held_out};
  if (options_.input.is_null() && !options_.held_out) pass.files = *args_.config.node("validation").find("files");
  return pass;
}

InputGraph Validation::build(std::shared_ptr<Workers> workers) const {
  InputGraph graph =
      pass_.build(args_.registry, args_.config.seed, args_.config.written.place().file, std::move(workers));
  graph.set_tasks(args_.context.executor().threads());
  return graph;
}

// Nothing if it was stopped, as the files of workers may have to be waited for. If a file was there before the first
// step and is gone now, the run failed, so that is an IoError.
std::optional<InputGraph> Validation::build_again() {
  const std::shared_ptr<Workers> workers = another(args_.workers);
  const OpenGate open(gate_, [&workers] {
    if (workers) workers->stop();
  });
  if (stopped_.load()) return {};
  try {
    return build(workers);
  } catch (const IoError& error) {
    if (stopped_.load()) return {};
    throw IoError(error.message(), error.place(), error.hint());
  }
}

void Validation::make_plan() {
  try {
    plan_.emplace(PredictPlanArgs{.model = args_.model,
                                  .context = args_.context,
                                  .rows = graph_.output().rows,
                                  .loss = args_.config.loss.loss.get(),
                                  .label = args_.config.loss.label,
                                  .weight = args_.config.loss.weight,
                                  .metrics = &args_.config.metrics});
  } catch (ConfigError& error) {
    const Spec& node = options_.input.is_null() ? args_.config.node("validation") : options_.input;
    error.add_context(node.path());
    error.set_place(node.place());
    throw;
  }
}

uint64_t Validation::memory_bound() {
  const Port& output = graph_.output();
  const auto rows = static_cast<uint64_t>(output.batch_size);
  return graph_.memory_bound(args_.context.executor().threads()) + rows * (output.rows.row_bytes() + sizeof(RowId)) +
         plan_->memory_bound(output.batch_size) + (best_model_ ? best_model_->bytes() : 0);
}

std::optional<ValidationReport> Validation::run(int64_t step, uint64_t epoch, const Tell& tell) {
  const Clock::time_point start = Clock::now();
  if (!read_rows(step, tell)) return {};
  if (plan_->rows() == 0) {
    throw DataError(
        "the validation has no rows", args_.config.node("validation").place(),
        options_.held_out ? "hold_out held none of them out: give it a larger share" : "look into its files");
  }
  ValidationReport report{
      .step = step, .epoch = epoch, .rows = plan_->rows(), .loss = plan_->loss(), .metrics = plan_->metrics()};
  validated_ = step;
  judge(report);
  report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return report;
}

// Runs every row through the plan. False when stopped.
bool Validation::read_rows(int64_t step, const Tell& tell) {
  plan_->reset();
  std::optional<InputGraph> graph = build_again();
  if (!graph) return false;
  Pipeline pipeline(std::move(*graph), {.executor = &args_.context.executor(),
                                        .on_bad_row = pass_.on_bad_row(),
                                        .on_print = args_.on_print,
                                        .reader = args_.context.device(),
                                        .trace = args_.context.executor().trace()});
  RowBlock batch = pipeline.make_slot();
  const OpenGate open(gate_, [&pipeline] { pipeline.cancel(); });
  if (stopped_.load()) pipeline.cancel();
  Clock::time_point told = Clock::now();
  while (plan_->run_next(pipeline, batch)) {
    if (!tell || Clock::now() - told < kProgressInterval) continue;
    tell({.step = step, .done = pipeline.share()});
    told = Clock::now();
  }
  return !pipeline.cancelled();
}

void Validation::judge(ValidationReport& report) {
  const std::string watched = options_.watched();
  double value = report.loss;
  for (const auto& [name, metric] : report.metrics) {
    if (name == watched) value = metric;
  }
  // A model whose loss is NaN or infinite cannot be the best, even if its metric is finite.
  const bool usable = std::isfinite(report.loss) && std::isfinite(value);
  report.best = usable && (!best_ || (options_.more_is_better() ? value > best_->value : value < best_->value));
  without_improvement_ = report.best ? 0 : without_improvement_ + 1;
  if (!report.best) return;
  best_ = {report.step, watched, value};
  if (best_model_) best_model_->take();
}

std::optional<BestStep> Validation::put_back_best() {
  if (!has_best()) return {};
  best_model_->give_back();
  return best_;
}

void Validation::save(State& state) {
  if (validated_ >= 0) state.set("validated", static_cast<uint64_t>(validated_));
  state.set("without_improvement", static_cast<uint64_t>(without_improvement_));
  if (!best_) return;
  State& best = state.scope("best");
  best.set("step", static_cast<uint64_t>(best_->step));
  best.set_text("metric", best_->metric);
  best.set_real("value", best_->value);
}

void Validation::restore(const State& state) {
  constexpr auto kMost = static_cast<int64_t>(State::kMostCount);
  const int64_t validated = state.has("validated") ? state.count("validated", kMost) : -1;
  const int64_t without_improvement = state.count("without_improvement", kMost);
  std::optional<BestStep> best;
  if (state.has("best")) {
    const State& saved = state.scope("best");
    best = {.step = saved.count("step", kMost), .metric = saved.text("metric"), .value = saved.real("value")};
    if (best->metric != options_.watched()) {
      throw DataError(cat("the saved best validation is the best by ", quote(best->metric), ", this training goes by ",
                          options_.watched()));
    }
  }
  validated_ = validated;
  without_improvement_ = without_improvement;
  best_ = std::move(best);
}

void Validation::list(std::vector<NamedTensor>& out, bool all) {
  if (best_model_ && (all || best_)) best_model_->list("best/", out);
}

void Validation::stop() noexcept {
  stopped_.store(true);
  gate_.stop();
}

}  // namespace millrace
