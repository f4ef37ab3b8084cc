// A kind of every sort that throws if it is told to. Otherwise it works like a built-in kind, which does the work. For
// a program (add_throwing_kinds) and for a plug-in (tests/cli/throwing_plugin.cpp).
//
// MILLRACE_TEST_THROWS_IN names one of the functions in kThrowing, MILLRACE_TEST_THROWS says what it throws: "number",
// "exception", "error"; with "null" it returns a null pointer.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/extend.h"

namespace millrace::testing::throwing {

inline std::string_view setting(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? text : "";
}

// Throws if `function` is told to.
inline void at(std::string_view function) {
  if (setting("MILLRACE_TEST_THROWS_IN") != function) return;
  const std::string_view what = setting("MILLRACE_TEST_THROWS");
  if (what == "number") throw 7;
  if (what == "exception") throw std::runtime_error("on purpose");
  if (what == "error") throw ConfigError("on purpose");
}

// The same for a function that returns `value`.
template <class T>
T at(std::string_view function, T value) {
  at(function);
  if constexpr (requires { value == nullptr; }) {
    if (setting("MILLRACE_TEST_THROWS_IN") == function) return T();
  }
  return value;
}

template <class Base>
std::unique_ptr<Base> built_in(const Registry<Base>& registry, const Spec& kind) {
  return registry.make(registry.read(kind, "a kind"), kind);
}

class Layer final : public millrace::Layer {
 public:
  struct Options {
    void declare(OptionReader&) { at("layer.declare"); }
  };
  static constexpr std::string_view kDoc = "three numbers from the input";
  explicit Layer(const Options&)
      : layer_(built_in(LayerCatalog::builtin().layers, Spec::map({{"dense", {{"units", 3}}}}))) {
    at("layer.constructor");
  }

  int min_inputs() const override { return at("layer.min_inputs", layer_->min_inputs()); }
  int max_inputs() const override { return at("layer.max_inputs", layer_->max_inputs()); }
  Wanted wants(int input, DType model) const override { return at("layer.wants", layer_->wants(input, model)); }
  LayoutUse layout_use() const override { return at("layer.layout_use", layer_->layout_use()); }
  bool convolves() const override { return at("layer.convolves", layer_->convolves()); }
  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder& params) override {
    return at("layer.build", layer_->build(inputs, params));
  }
  std::unique_ptr<LayerPlan> plan(Context& context, const PlanArgs& args) const override;

 private:
  std::unique_ptr<millrace::Layer> layer_;
};

class Plan final : public LayerPlan {
 public:
  explicit Plan(std::unique_ptr<LayerPlan> plan) : plan_(std::move(plan)) {}
  size_t saved_bytes() const override { return at("layer_plan.saved_bytes", plan_->saved_bytes()); }
  size_t scratch_bytes() const override { return at("layer_plan.scratch_bytes", plan_->scratch_bytes()); }
  bool backward_reads_inputs() const override {
    return at("layer_plan.backward_reads_inputs", plan_->backward_reads_inputs());
  }
  bool backward_reads_output() const override {
    return at("layer_plan.backward_reads_output", plan_->backward_reads_output());
  }
  size_t bytes() const override { return at("layer_plan.bytes", plan_->bytes()); }
  void forward(Context& context, const ForwardArgs& args) override {
    at("layer_plan.forward");
    plan_->forward(context, args);
  }
  void backward(Context& context, const BackwardArgs& args) override {
    at("layer_plan.backward");
    plan_->backward(context, args);
  }

 private:
  std::unique_ptr<LayerPlan> plan_;
};

inline std::unique_ptr<LayerPlan> Layer::plan(Context& context, const PlanArgs& args) const {
  return at<std::unique_ptr<LayerPlan>>("layer.plan", std::make_unique<Plan>(layer_->plan(context, args)));
}

class LossOfPlan final : public LossPlan {
 public:
  explicit LossOfPlan(std::unique_ptr<LossPlan> plan) : plan_(std::move(plan)) {}
  size_t scratch_bytes() const override { return at("loss_plan.scratch_bytes", plan_->scratch_bytes()); }
  size_t bytes() const override { return at("loss_plan.bytes", plan_->bytes()); }
  void run(Context& context, const LossArgs& args) override {
    at("loss_plan.run");
    plan_->run(context, args);
  }

 private:
  std::unique_ptr<LossPlan> plan_;
};

class Loss final : public millrace::Loss {
 public:
  struct Options {
    void declare(OptionReader&) { at("loss.declare"); }
  };
  static constexpr std::string_view kDoc = "the squared error";
  explicit Loss(const Options&) : loss_(built_in(LayerCatalog::builtin().losses, Spec::of("mse"))) {
    at("loss.constructor");
  }

  void check(const TensorSpec& prediction, const TensorSpec& label) const override {
    at("loss.check");
    loss_->check(prediction, label);
  }
  LabelSpec label(const TensorSpec& prediction) const override { return at("loss.label", loss_->label(prediction)); }
  std::unique_ptr<LossPlan> plan(Context& context, const LossPlanArgs& args) const override {
    return at<std::unique_ptr<LossPlan>>("loss.plan", std::make_unique<LossOfPlan>(loss_->plan(context, args)));
  }
  Predictions predictions() const override { return at("loss.predictions", loss_->predictions()); }

 private:
  std::unique_ptr<millrace::Loss> loss_;
};

class MetricOfPlan final : public MetricPlan {
 public:
  explicit MetricOfPlan(std::unique_ptr<MetricPlan> plan) : plan_(std::move(plan)) {}
  size_t partial_bytes() const override { return at("metric_plan.partial_bytes", plan_->partial_bytes()); }
  size_t scratch_bytes() const override { return at("metric_plan.scratch_bytes", plan_->scratch_bytes()); }
  size_t bytes() const override { return at("metric_plan.bytes", plan_->bytes()); }
  void run(Context& context, const MetricArgs& args) override {
    at("metric_plan.run");
    plan_->run(context, args);
  }

 private:
  std::unique_ptr<MetricPlan> plan_;
};

class Accumulator final : public MetricAccumulator {
 public:
  explicit Accumulator(std::unique_ptr<MetricAccumulator> sum) : sum_(std::move(sum)) {}
  size_t bytes(int64_t rows) const override { return at("accumulator.bytes", sum_->bytes(rows)); }
  void reserve(int64_t rows) override {
    at("accumulator.reserve");
    sum_->reserve(rows);
  }
  void add(std::span<const std::byte> partial, int64_t rows) override {
    at("accumulator.add");
    sum_->add(partial, rows);
  }
  double value() const override { return at("accumulator.value", sum_->value()); }
  void reset() override {
    at("accumulator.reset");
    sum_->reset();
  }
  void save(State& state) const override {
    at("accumulator.save");
    sum_->save(state);
  }
  void restore(const State& state) override {
    at("accumulator.restore");
    sum_->restore(state);
  }

 private:
  std::unique_ptr<MetricAccumulator> sum_;
};

class Metric final : public millrace::Metric {
 public:
  struct Options {
    void declare(OptionReader&) { at("metric.declare"); }
  };
  static constexpr std::string_view kDoc = "the absolute error";
  explicit Metric(const Options&) : metric_(built_in(LayerCatalog::builtin().metrics, Spec::of("mae"))) {
    at("metric.constructor");
  }

  void check(const TensorSpec& prediction, const TensorSpec& label) const override {
    at("metric.check");
    metric_->check(prediction, label);
  }
  std::unique_ptr<MetricPlan> plan(Context& context, const MetricPlanArgs& args) const override {
    return at<std::unique_ptr<MetricPlan>>("metric.plan", std::make_unique<MetricOfPlan>(metric_->plan(context, args)));
  }
  std::unique_ptr<MetricAccumulator> accumulator() const override {
    return at<std::unique_ptr<MetricAccumulator>>("metric.accumulator",
                                                  std::make_unique<Accumulator>(metric_->accumulator()));
  }
  bool less_is_better() const override { return at("metric.less_is_better", metric_->less_is_better()); }
  Predictions predictions() const override { return at("metric.predictions", metric_->predictions()); }
  int label_power() const override { return at("metric.label_power", metric_->label_power()); }

 private:
  std::unique_ptr<millrace::Metric> metric_;
};

class Optimizer final : public millrace::Optimizer {
 public:
  struct Options {
    void declare(OptionReader&) { at("optimizer.declare"); }
  };
  static constexpr std::string_view kDoc = "momentum";
  explicit Optimizer(const Options&)
      : optimizer_(built_in(LayerCatalog::builtin().optimizers,
                            Spec::map({{"sgd", {{"learning_rate", 0.01}, {"momentum", 0.5}}}}))) {
    at("optimizer.constructor");
  }

  int state_slots() const override { return at("optimizer.state_slots", optimizer_->state_slots()); }
  int scalar_count() const override { return at("optimizer.scalar_count", optimizer_->scalar_count()); }
  void scalars(uint64_t step, std::span<float> out) const override {
    at("optimizer.scalars");
    optimizer_->scalars(step, out);
  }
  bool decays(std::string_view name) const override { return at("optimizer.decays", optimizer_->decays(name)); }
  bool adds_scaled_gradient() const override {
    return at("optimizer.adds_scaled_gradient", optimizer_->adds_scaled_gradient());
  }
  void update(Context& context, const UpdateArgs& args) const override {
    at("optimizer.update");
    optimizer_->update(context, args);
  }

 private:
  std::unique_ptr<millrace::Optimizer> optimizer_;
};

// Names files, each once.
class Names final : public NameSource {
 public:
  struct Options {
    std::vector<std::string> files;
    void declare(OptionReader& o) {
      o.required("files", files, "which files");
      o.used_as("files", OptionUse::files);
      at("names.declare");
    }
  };
  static constexpr std::string_view kDoc = "names files";
  explicit Names(const Options& options) {
    Spec files = Spec::list();
    for (const std::string& file : options.files) files.append(Spec::of(file));
    Spec all = Spec::map().set("files", files).set("epochs", 1);
    op_ = built_in(Catalog::builtin().ops, Spec::map().set("filename_queue", std::move(all)));
    names_ = dynamic_cast<NameSource*>(op_.get());
    at("names.constructor");
  }

  std::vector<PortType> inputs() const override { return at("names.inputs", op_->inputs()); }
  bool joins() const override { return at("names.joins", op_->joins()); }
  Port bind(const BindArgs& args) override { return at("names.bind", op_->bind(args)); }
  void check_files() const override {
    at("names.check_files");
    op_->check_files();
  }
  uint64_t memory_bound() const override { return at("names.memory_bound", op_->memory_bound()); }
  std::vector<std::string> warnings() const override { return at("names.warnings", op_->warnings()); }
  bool next(Unit& unit) override {
    at("names.next");
    const bool more = names_->next(unit);
    if (more) unit.file = at("names.next", unit.file);
    return more;
  }
  void rewind(uint32_t run) override {
    at("names.rewind");
    names_->rewind(run);
  }
  void seek(const Position& position) override {
    at("names.seek");
    names_->seek(position);
  }
  void save(State& state) const override {
    at("names.save");
    names_->save(state);
  }
  void check(const State& state) const override {
    at("names.check");
    names_->check(state);
  }
  Unit unit_of(const RowId& id) const override { return at("names.unit_of", names_->unit_of(id)); }
  Place place(const RowId& id) const override { return at("names.place", names_->place(id)); }
  bool endless() const override { return at("names.endless", names_->endless()); }
  bool comes_once() const override { return at("names.comes_once", names_->comes_once()); }
  uint32_t passes() const override { return at("names.passes", names_->passes()); }
  std::vector<std::shared_ptr<const FileEntry>> files() const override {
    auto files = at("names.files", names_->files());
    if (!files.empty()) files[0] = at("names.files", files[0]);
    return files;
  }

 private:
  std::unique_ptr<Op> op_;
  NameSource* names_ = nullptr;
};

// A record is three floats: two features and a label.
inline RowSpec row_spec() {
  RowSpec rows;
  for (const auto& [name, width] : {std::pair("features", 2), {"label", 1}}) {
    FieldSpec& field = rows.fields.emplace_back();
    field.name = name;
    field.shape = Shape{width};
  }
  return rows;
}

class Records final : public RecordSource {
 public:
  struct Options {
    void declare(OptionReader&) { at("records.declare"); }
  };
  static constexpr std::string_view kDoc = "reads records";
  explicit Records(const Options&) : RecordSource({.rows = row_spec(), .record_bytes = 12, .chunk_bytes = 60}) {
    at("records.constructor");
  }

  std::vector<PortType> inputs() const override { return at("records.inputs", RecordSource::inputs()); }
  Port open(const BindArgs& args) override { return at("records.open", RecordSource::open(args)); }
  bool cut(Unit& unit) const override { return at("records.cut", RecordSource::cut(unit)); }
  void read(Chunk& chunk) const override {
    at("records.read");
    RecordSource::read(chunk);
  }
  ChunkBound chunk_bound() const override { return at("records.chunk_bound", RecordSource::chunk_bound()); }
  void decode(const std::byte* record, RowBlock& rows, int64_t row) const override {
    at("records.decode");
    std::memcpy(rows.at(0, row), record, 8);
    std::memcpy(rows.at(1, row), record + 8, 4);
  }
  void set_wake(const std::function<void()>& wake) override {
    if (wake) at("records.set_wake");  // a destructor passes an empty function
    RecordSource::set_wake(wake);
  }
};

// Makes rows from an IndexSource's units.
class Producer final : public Transform {
 public:
  Port bind(const BindArgs&) override { return {.type = PortType::rows, .rows = row_spec()}; }
  void apply(Chunk& chunk) const override {
    at("rows.producer.apply");
    const auto rows = static_cast<int64_t>(chunk.unit.end - chunk.unit.begin);
    chunk.rows.configure(row_spec(), std::max<int64_t>(rows, 1));
    chunk.rows.resize(rows);
    for (int64_t row = 0; row < rows; ++row) {
      const uint64_t number = chunk.unit.begin + static_cast<uint64_t>(row);
      chunk.rows.id(row) = IndexSource::id_of(chunk.unit, number);
      for (const size_t field : {size_t{0}, size_t{1}}) {
        for (float& value : chunk.rows.numbers<float>(field, row)) value = static_cast<float>(number % 3);
      }
    }
  }
  uint64_t work_bound() const override { return at("rows.producer.work_bound", uint64_t{0}); }
};

class Rows final : public IndexSource {
 public:
  struct Options {
    void declare(OptionReader&) { at("rows.declare"); }
  };
  static constexpr std::string_view kDoc = "makes rows";
  explicit Rows(const Options&) : IndexSource("made", {.rows = 20, .unit_rows = 5}, std::make_unique<Producer>()) {
    at("rows.constructor");
  }

  std::vector<PortType> inputs() const override { return at("rows.inputs", IndexSource::inputs()); }
  Port bind(const BindArgs& args) override { return at("rows.bind", IndexSource::bind(args)); }
  const Transform& producer() const override {
    at("rows.producer");
    return IndexSource::producer();
  }
  bool next(Unit& unit) override { return at("rows.next", IndexSource::next(unit)); }
  ChunkBound chunk_bound() const override { return at("rows.chunk_bound", IndexSource::chunk_bound()); }
  void rewind(uint32_t run) override {
    at("rows.rewind");
    IndexSource::rewind(run);
  }
  void seek(const Position& position) override {
    at("rows.seek");
    IndexSource::seek(position);
  }
  void save(State& state) const override {
    at("rows.save");
    IndexSource::save(state);
  }
  void check(const State& state) const override {
    at("rows.check");
    IndexSource::check(state);
  }
  Unit unit_of(const RowId& id) const override { return at("rows.unit_of", IndexSource::unit_of(id)); }
  Place place(const RowId& id) const override { return at("rows.place", IndexSource::place(id)); }
  bool endless() const override { return at("rows.endless", IndexSource::endless()); }
  bool comes_once() const override { return at("rows.comes_once", false); }
  uint32_t passes() const override { return at("rows.passes", IndexSource::passes()); }
  std::vector<std::shared_ptr<const FileEntry>> files() const override {
    return at("rows.files", std::vector<std::shared_ptr<const FileEntry>>());
  }
};

// Leaves rows as they are.
class Change final : public Transform {
 public:
  struct Options {
    void declare(OptionReader&) { at("transform.declare"); }
  };
  static constexpr std::string_view kDoc = "leaves rows as they are";
  explicit Change(const Options&) { at("transform.constructor"); }

  std::vector<PortType> inputs() const override { return at("transform.inputs", Transform::inputs()); }
  bool joins() const override { return at("transform.joins", false); }
  Port bind(const BindArgs& args) override { return at("transform.bind", Transform::bind(args)); }
  void check_files() const override { at("transform.check_files"); }
  uint64_t memory_bound() const override { return at("transform.memory_bound", uint64_t{0}); }
  std::vector<std::string> warnings() const override { return at("transform.warnings", std::vector<std::string>()); }
  // The first row of a chunk is followed by a bad one if reports are to throw.
  void apply(Chunk& chunk) const override {
    at("transform.apply");
    const std::string_view in = setting("MILLRACE_TEST_THROWS_IN");
    if (chunk.rows.size() == 0 || !(in.ends_with("report") || in.ends_with("reports"))) return;
    Note note;
    note.kind = Note::Kind::bad_row;
    note.row = 1;
    note.text = "it is bad";
    chunk.add(note);
  }
  void report(const BadRow&) override { at("transform.report"); }
  void resume_reports(uint64_t) override { at("transform.resume_reports"); }
  uint64_t work_bound() const override { return at("transform.work_bound", uint64_t{0}); }
  Ahead ahead() const override { return at("transform.ahead", Ahead()); }
  std::optional<std::vector<std::string>> concerned_fields() const override {
    return at("transform.concerned_fields", std::optional(std::vector<std::string>{"features"}));
  }
  void undo(FieldHistory& history) const override {
    at("transform.undo");
    if (history.field == "label") history.scale = {2};  // so that metrics are asked for their unit
  }
  uint64_t note_bytes() const override { return at("transform.note_bytes", uint64_t{0}); }
};

// Hands its rows on.
class Buffer final : public RowBuffer {
 public:
  struct Options {
    void declare(OptionReader&) { at("buffer.declare"); }
  };
  static constexpr std::string_view kDoc = "hands its rows on";
  explicit Buffer(const Options&) { at("buffer.constructor"); }

  std::vector<PortType> inputs() const override { return at("buffer.inputs", RowBuffer::inputs()); }
  Port bind(const BindArgs& args) override { return at("buffer.bind", RowBuffer::bind(args)); }
  bool endless(const std::vector<bool>& inputs) const override {
    return at("buffer.endless", RowBuffer::endless(inputs));
  }
  bool needs_end() const override { return at("buffer.needs_end", RowBuffer::needs_end()); }
  bool reads_fields() const override { return at("buffer.reads_fields", RowBuffer::reads_fields()); }
  bool picks_by_number() const override { return at("buffer.picks_by_number", RowBuffer::picks_by_number()); }
  RowSpan pull(int64_t at_most) override {
    RowSpan rows = input().pull(at_most);
    rows.block = at("buffer.pull", rows.block);
    return rows;
  }
  void rewind(uint32_t run) override {
    at("buffer.rewind");
    RowBuffer::rewind(run);
  }
  bool has_source(uint32_t source) const override { return at("buffer.has_source", RowBuffer::has_source(source)); }
  void fetch(const RowId& id, RowBlock& block, int64_t row) override {
    at("buffer.fetch");
    RowBuffer::fetch(id, block, row);
  }
  void set_ahead(int64_t rows, int threads) override {
    at("buffer.set_ahead");
    RowBuffer::set_ahead(rows, threads);
  }
  uint32_t passes() const override { return at("buffer.passes", RowBuffer::passes()); }
  std::optional<double> share() const override { return at("buffer.share", RowBuffer::share()); }
  int64_t spread() const override { return at("buffer.spread", RowBuffer::spread()); }
  void set_silent(bool silent) override {
    at("buffer.set_silent");
    RowBuffer::set_silent(silent);
  }
  void save(State&) const override { at("buffer.save"); }
  void restore(const State&) override { at("buffer.restore"); }
  void add_dropped(std::vector<Dropped>&) const override { at("buffer.add_dropped"); }
};

// Batches of four rows.
class Batches final : public BatchBuffer {
 public:
  struct Options {
    void declare(OptionReader&) { at("batches.declare"); }
  };
  static constexpr std::string_view kDoc = "makes batches";
  explicit Batches(const Options&) { at("batches.constructor"); }

  std::vector<PortType> inputs() const override { return at("batches.inputs", BatchBuffer::inputs()); }
  Port bind(const BindArgs& args) override {
    Port port = BatchBuffer::bind(args);
    port.batch_size = kRows;
    return at("batches.bind", port);
  }
  Ahead ahead() const override { return at("batches.ahead", Ahead()); }
  bool begins() const override { return at("batches.begins", BatchBuffer::begins()); }
  int64_t window() const override { return at("batches.window", int64_t{0}); }
  int64_t held() const override { return at("batches.held", int64_t{0}); }
  int64_t fill(RowBlock& batch) override {
    at("batches.fill");
    batch.clear();
    while (batch.size() < kRows) {
      const RowSpan rows = input().pull(kRows - batch.size());
      if (!rows) break;
      const int64_t begin = batch.size();
      batch.resize(begin + rows.count);
      for (int64_t row = 0; row < rows.count; ++row) batch.copy_row(*rows.block, rows.begin + row, begin + row);
    }
    return batch.size();
  }
  void save(State&) const override { at("batches.save"); }
  void restore(const State&) override { at("batches.restore"); }
  void add_dropped(std::vector<Dropped>&) const override { at("batches.add_dropped"); }

 private:
  static constexpr int64_t kRows = 4;
};

inline void add_throwing_kinds(Catalog& catalog) {
  catalog.add_layer<Layer>("throwing_layer");
  catalog.add_loss<Loss>("throwing_loss");
  catalog.add_metric<Metric>("throwing_metric");
  catalog.add_optimizer<Optimizer>("throwing_optimizer");
  catalog.add_op<Names>("throwing_names");
  catalog.add_op<Records>("throwing_records");
  catalog.add_op<Rows>("throwing_rows");
  catalog.add_op<Change>("throwing_transform");
  catalog.add_op<Buffer>("throwing_buffer");
  catalog.add_op<Batches>("throwing_batches");
}

}  // namespace millrace::testing::throwing
