// Predictor, which network.h declares.
#include "millrace/trainer/predict/network.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "millrace/core/context.h"
#include "millrace/core/sizes.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/float_mode.h"
#include "millrace/core/threads/stop_gate.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/files/saved_model.h"
#include "millrace/trainer/input/pass_input.h"
#include "millrace/trainer/predict/model_reader.h"
#include "millrace/trainer/predict/piece_runner.h"
#include "millrace/trainer/predict/predict_plan.h"

namespace millrace {

namespace {

ModelFile file_of(const PredictorArgs& args) {
  ModelFile file = ModelFile::read(args.model);
  return args.best ? best_model(std::move(file)) : std::move(file);
}

PassInput pass_of(const Config& config, const PredictorArgs& args, const Catalog& catalog) {
  if (args.data.empty() && !args.held_out) throw ConfigError("no data are given", args.data_place);
  if (args.judge && args.bad_rows_stay) throw ConfigError("bad rows cannot be judged", args.data_place);
  PassArgs pass = pass_for(config, config.input, catalog.ops, args.judge);
  pass.keep = args.keep;
  pass.keep_place = args.keep_place;
  pass.bad_rows_stay = args.bad_rows_stay;
  pass.held_out = args.held_out;
  pass.files = named_files(args.data, args.data_place);
  return pass_input(pass);
}

Config read_predictor_config(const ModelFile& file, const PredictorArgs& args, const Catalog& catalog) {
  const auto heeded = [&](const Config& config) {
    std::vector<std::string_view> keys = {"seed", "device", "precision", "threads", "model", "loss"};
    if (args.judge) keys.push_back("metrics");
    Spec out = heeded_of(config, label_history(config, config.input, catalog.ops), keys);
    return out.set("input", pass_of(config, args, catalog).list);
  };
  const char* const hint =
      args.judge ? "the data are read once, in order, and every row counts"
                 : "nothing is trained, the data are read once, in order, and for bad rows there is --bad-rows";
  return read_saved_config(file, {.overrides = args.overrides, .heeded = heeded, .hint = hint}, catalog);
}

// The names of the columns in the field kKept.
std::vector<std::string> names_of_kept(const InputGraph& graph) {
  std::vector<std::string> names;
  const TextColumns* text = graph.text_columns();
  const int field = text != nullptr ? text->rows.find(kKept) : -1;
  if (field < 0) return names;
  for (const uint32_t column : text->columns[static_cast<size_t>(field)]) {
    names.push_back(text->format->field_name(column));
  }
  return names;
}

// If a file has more columns than those of the training, positions may select other columns.
void check_fields(const ModelFile& file, const PredictorArgs& args, const InputGraph& graph) {
  const TextColumns* text = graph.text_columns();
  const int64_t trained = saved_nameless_fields(file), given = text != nullptr ? text->format->nameless_fields() : 0;
  const bool set_anew = std::any_of(args.overrides.begin(), args.overrides.end(),
                                    [](const std::string& setting) { return setting.starts_with("input"); });
  if (trained == 0 || given <= trained || set_anew) return;
  throw DataError(cat("the records have ", given, " fields, the records of the training had ", trained),
                  {graph.files().read.front(), 0, 0}, "say which columns are meant: --set input.decode_csv.fields...");
}

}  // namespace

struct Predictor::Impl {
  Impl(const PredictorArgs& args, const Catalog& catalog) : Impl(args, catalog, file_of(args)) {}
  Impl(const PredictorArgs& args, const Catalog& catalog, ModelFile file);
  ~Impl() { gate.close(); }

  InputGraph build_graph(const PassInput& pass, const PredictorArgs& args, const Catalog& catalog) const;
  uint64_t needed_bytes(const InputGraph& graph, bool judge) const;
  void limit_bytes(InputGraph& graph, const PredictorArgs& args) const;
  void make_plan(bool judge);
  bool next();

  StopGate gate;  // first, so that it outlives the tasks
  Config config;
  std::vector<std::string> warnings;
  Device device;
  Executor executor;
  Context context;
  const FieldHistory label;
  std::optional<Model> model;
  std::optional<Pipeline> pipeline;
  RowBlock batch;
  std::optional<PredictPlan> plan;
  std::optional<PieceRunner> runner;  // empty with `judge`
  uint64_t rows = 0;
  std::vector<std::string> kept_names;
  int kept_field = -1;
};

Predictor::Impl::Impl(const PredictorArgs& args, const Catalog& catalog, ModelFile file)
    : config(read_predictor_config(file, args, catalog)),
      device(device_of(config, warnings)),
      executor(config.threads),
      context(device, executor, config.precision),
      label(label_history(config, config.input, catalog.ops)) {
  const PassInput pass = pass_of(config, args, catalog);
  InputGraph graph = build_graph(pass, args, catalog);
  for (const std::string& warning : graph.warnings()) warnings.push_back(warning);
  check_fields(file, args, graph);
  model.emplace(read_saved_model(file, config, graph.output().rows, context));
  limit_bytes(graph, args);
  if (args.bad_rows_stay && graph.output().rows.find(kRowError) < 0) {
    throw config.input.error("the ops that read the data cannot go on after a bad row");
  }
  kept_names = names_of_kept(graph);
  kept_field = graph.output().rows.find(kKept);
  pipeline.emplace(
      std::move(graph),
      PipelineOptions{.executor = &executor, .on_bad_row = pass.on_bad_row(), .reader = device, .pieces = !args.judge});
  make_plan(args.judge);
  batch = pipeline->make_slot();
  if (!args.judge) runner.emplace(PieceRunnerArgs{*plan, executor, pipeline->make_slot()});
  gate.open([this] { pipeline->cancel(); });
}

InputGraph Predictor::Impl::build_graph(const PassInput& pass, const PredictorArgs& args,
                                        const Catalog& catalog) const {
  try {
    return pass.build(catalog.ops, config.seed);
  } catch (ConfigError& error) {
    // The error is in the configuration of the model file, which users do not edit.
    const bool is_saved = error.place().file == saved_config_name(args.model);
    if (is_saved) error.set_hint("--set PATH=VALUE changes what the model file says");
    throw;
  }
}

// The bytes of batches and chunks; UINT64_MAX if they cannot be counted.
uint64_t Predictor::Impl::needed_bytes(const InputGraph& graph, bool judge) const {
  const size_t blocks = judge ? 1 : 2;  // `batch`, and the runner's block
  try {
    return add_bytes(batch_bytes(*model, graph.output().rows, graph.output().batch_size, blocks),
                     graph.memory_bound(executor.threads()));
  } catch (const ShapeError&) {
    return UINT64_MAX;
  }
}

void Predictor::Impl::limit_bytes(InputGraph& graph, const PredictorArgs& args) const {
  const auto fits = [&] { return needed_bytes(graph, args.judge) <= args.max_bytes; };
  while (!fits() && graph.read_less_at_once()) {
  }
  if (fits()) {
    // As many threads decode as there is memory for.
    int tasks = executor.threads();
    for (graph.set_tasks(tasks); tasks > 1 && !fits(); graph.set_tasks(tasks)) --tasks;
    return;
  }
  const uint64_t bytes = needed_bytes(graph, args.judge);
  const std::string needs = bytes == UINT64_MAX ? "more bytes than can be counted" : cat(bytes, " bytes");
  throw config.input.error(cat("batches of ", count_of(graph.output().batch_size, "row"), " would take ", needs,
                               ", at most ", args.max_bytes, " are allowed"),
                           "set a smaller batch_size");
}

void Predictor::Impl::make_plan(bool judge) {
  PredictPlanArgs args{.model = *model, .context = context, .rows = pipeline->rows()};
  if (judge) {
    args.loss = config.loss.loss.get();
    args.label = config.loss.label;
    args.weight = config.loss.weight;
    args.metrics = &config.metrics;
  }
  try {
    plan.emplace(args);
  } catch (ConfigError& error) {
    error.set_place(config.loss.spec.place());
    throw;
  }
}

// Makes and predicts the next batch. False at the end of the data.
bool Predictor::Impl::next() {
  const auto run = [&] { runner ? runner->run(batch, pipeline->begins_batch()) : plan->run(batch); };
  if (!plan->run_next(*pipeline, batch, run)) return false;
  rows += static_cast<uint64_t>(batch.size());
  return true;
}

Predictor::Predictor(const PredictorArgs& args, const Catalog& catalog) {
  const FloatMode mode;
  impl_ = std::make_unique<Impl>(args, catalog);
}

Predictor::~Predictor() = default;
Predictor::Predictor(Predictor&&) noexcept = default;
Predictor& Predictor::operator=(Predictor&&) noexcept = default;

const Spec& Predictor::resolved() const { return impl_->config.resolved; }
const Config& Predictor::config() const { return impl_->config; }
const Model& Predictor::model() const { return *impl_->model; }
const FieldHistory& Predictor::label() const { return impl_->label; }
const InputGraph& Predictor::input() const { return impl_->pipeline->graph(); }
const std::vector<std::string>& Predictor::warnings() const { return impl_->warnings; }
const std::vector<std::string>& Predictor::kept_names() const { return impl_->kept_names; }

const RowBlock* Predictor::next() {
  const FloatMode mode;
  return impl_->next() ? &impl_->batch : nullptr;
}

std::string_view Predictor::error(int64_t row) const { return row_error(impl_->batch, row); }

std::string_view Predictor::kept(int64_t row, size_t index) const {
  if (impl_->kept_field < 0) return {};
  const Varying& texts = std::as_const(impl_->batch).varying(static_cast<size_t>(impl_->kept_field), row);
  return index < texts.texts() ? texts.text(index) : std::string_view();
}

std::span<const float> Predictor::output(int64_t row) {
  if (impl_->runner) return impl_->runner->output(row);
  const ConstTensorView output = impl_->plan->output();
  return {output.as<float>() + row * output.stride(), static_cast<size_t>(output.columns())};
}

Place Predictor::place(const RowId& id) const { return impl_->pipeline->place(id); }
uint64_t Predictor::rows() const { return impl_->rows; }
double Predictor::loss() const { return impl_->plan->loss(); }
MetricValues Predictor::metrics() const { return impl_->plan->metrics(); }
bool Predictor::stopped() const { return impl_->pipeline->cancelled(); }
void Predictor::stop() noexcept { impl_->gate.stop(); }

}  // namespace millrace
