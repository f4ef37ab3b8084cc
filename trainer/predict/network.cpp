#include "millrace/trainer/predict/network.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/sizes.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/float_mode.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/input/graph/row_transforms.h"
#include "millrace/input/rows/row_block.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/model_file.h"
#include "millrace/trainer/files/saved_model.h"
#include "millrace/trainer/predict/answers.h"
#include "millrace/trainer/predict/given_texts.h"
#include "millrace/trainer/predict/model_reader.h"
#include "millrace/trainer/predict/predict_plan.h"

namespace millrace {

namespace {

// The most rows that go through the model at once. There are plans for powers of two; others are cut into such parts.
constexpr int64_t kMostRows = 256;
constexpr size_t kPlans = 9;

Answers answers_of(const Config& config, const Model& model, const Catalog& catalog) {
  return Answers({.predictions = attributed(*config.loss.loss, &Loss::predictions),
                  .outputs = model.output().shape.elements(),
                  .label = label_of_given_rows(config, catalog)});
}

Config read_network_config(const ModelFile& file, const NetworkOptions& options, const Catalog& catalog) {
  const auto heeded = [&](const Config& config) {
    Spec out =
        heeded_of(config, label_of_given_rows(config, catalog), {"seed", "device", "precision", "model", "loss"});
    // The program's rows go through the transforms only. Calls say how many there are.
    std::vector<Spec> ops = given_rows(file, config, catalog, options.max_bytes).transforms();
    return out.set("input", Spec::list(std::move(ops), config.input.place()));
  };
  return read_saved_config(file,
                           {.overrides = options.overrides,
                            .heeded = heeded,
                            .hint = "a Network reads no data, and has its threads from NetworkOptions"},
                           catalog);
}

}  // namespace

struct Network::Impl {
  // The memory and the threads of one call.
  struct Session {
    explicit Session(const Impl& network)
        : executor(network.options.threads), context(network.device, executor, network.config.precision) {
      if (network.model) make_plan(network);
    }
    void make_plan(const Impl& network) {
      plan.emplace(
          PredictPlanArgs{.model = *network.model, .context = context, .rows = network.model_rows(), .sizes = kPlans});
    }

    Executor executor;
    Context context;
    RowTransforms::Memory transforms;
    RowBlock rows;
    std::optional<PredictPlan> plan;
  };

  // `rows`: what predict() is given. Without transforms, the model reads them as they are.
  Impl(const ModelFile& file, const NetworkOptions& network_options, const Catalog& catalog, Config saved,
       const RowSpec& rows, std::unique_ptr<const RowTransforms> changes)
      : options(network_options),
        config(std::move(saved)),
        device(device_of(config, warnings)),
        transforms(std::move(changes)),
        input(std::make_shared<const RowSpec>(rows)) {
    auto session = std::make_unique<Session>(*this);
    model.emplace(read_saved_model(file, config, model_rows(), session->context));
    answers.emplace(answers_of(config, *model, catalog));
    session->make_plan(*this);
    const auto bytes_of = [&](int64_t count) {
      return add_bytes(batch_bytes(*model, model_rows(), count),
                       multiply_bytes(row_bytes(), static_cast<size_t>(count)));
    };
    if (const size_t bytes = bytes_of(1); bytes > options.max_bytes)
      throw row_too_large(file, bytes, options.max_bytes);
    while (most_rows > 1 && bytes_of(most_rows) > options.max_bytes) most_rows /= 2;
    session->plan->prepare(1);
    idle.push_back(std::move(session));
  }

  const RowSpec& model_rows() const { return transforms ? transforms->output() : *input; }
  size_t row_bytes() const { return transforms ? transforms->row_bytes() : input->row_bytes() + sizeof(RowId); }

  using Fill = Network::Fill;
  void predict(int64_t rows, std::span<float> outputs, Fill fill);
  void predict_some(Session& session, int64_t begin, int64_t count, float* outputs, Fill fill) const;

  std::unique_ptr<Session> take_session();
  void give_back(std::unique_ptr<Session> session);

  const NetworkOptions options;
  Config config;
  std::vector<std::string> warnings;
  const Device device;
  const std::unique_ptr<const RowTransforms> transforms;  // null: none
  const SharedRowSpec input;
  std::vector<std::vector<std::string>> columns;
  std::optional<Model> model;
  std::optional<Answers> answers;
  int64_t most_rows = kMostRows;
  // The most sessions that are kept after a burst of calls.
  const size_t most_idle = 2 * static_cast<size_t>(Executor::available_threads());

  Mutex mutex;
  std::vector<std::unique_ptr<Session>> idle MILLRACE_GUARDED_BY(mutex);
};

std::unique_ptr<Network::Impl::Session> Network::Impl::take_session() {
  {
    const MutexLock lock(mutex);
    if (!idle.empty()) {
      std::unique_ptr<Session> session = std::move(idle.back());
      idle.pop_back();
      return session;
    }
  }
  return std::make_unique<Session>(*this);
}

void Network::Impl::give_back(std::unique_ptr<Session> session) {
  const MutexLock lock(mutex);
  if (idle.size() < most_idle) idle.push_back(std::move(session));
}

void Network::Impl::predict(int64_t rows, std::span<float> outputs, Fill fill) {
  const FloatMode mode;
  const int64_t row_outputs = model->output().shape.elements();
  if (std::ssize(outputs) != rows * row_outputs) {
    throw ShapeError(cat("there is room for ", count_of(std::ssize(outputs), "output"), ", ", count_of(rows, "row"),
                         " of ", model->output().text(), " give ", rows * row_outputs));
  }
  std::unique_ptr<Session> session = take_session();
  try {
    session->executor.run([&] {
      int64_t begin = 0;
      while (begin < rows) {
        const auto count =
            static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::min(most_rows, rows - begin))));
        predict_some(*session, begin, count, outputs.data() + begin * row_outputs, fill);
        begin += count;
      }
    });
  } catch (const DataError&) {
    session->context.drain();
    give_back(std::move(session));
    throw;
  }
  // After any other error the session may be in the middle of something, so it is not given back.
  give_back(std::move(session));
}

void Network::Impl::predict_some(Session& session, int64_t begin, int64_t count, float* outputs, Fill fill) const {
  RowBlock& block = session.rows;
  block.configure(input, count);
  block.resize(count);
  block.clear_varying();
  fill(block, begin, count);
  if (!(block.spec() == *input) || block.capacity() < count) {
    throw ShapeError(cat("the block was made anew for (", block.spec().text(), "), expected (", input->text(), ")"));
  }
  block.resize(count);
  block.check_texts(begin);
  block.complete_texts();
  if (transforms) transforms->apply(block, static_cast<uint64_t>(begin), session.transforms);

  PredictPlan& plan = *session.plan;
  try {
    plan.run(block);
  } catch (RowError& error) {
    error.row += begin;
    throw;
  }
  const ConstTensorView output = plan.output();
  const auto row_outputs = static_cast<size_t>(output.columns());
  for (int64_t row = 0; row < count; ++row) {
    std::memcpy(outputs + static_cast<size_t>(row) * row_outputs, output.as<float>() + row * output.stride(),
                row_outputs * sizeof(float));
  }
}

Network Network::load(const std::string& path, const NetworkOptions& options, const Catalog& catalog) {
  return Network(ModelFile::read(path), options, catalog);
}

Network::Network(ModelFile file, const NetworkOptions& options, const Catalog& catalog) {
  const FloatMode mode;
  if (options.best) file = best_model(std::move(file));
  Config config = read_network_config(file, options, catalog);
  const GivenRows given = given_rows(file, config, catalog, options.max_bytes);
  auto transforms =
      std::make_unique<const RowTransforms>(InputGraph::build(given.list, given.registry, {.seed = config.seed}));
  const RowSpec& rows = transforms->input();
  impl_ = std::make_unique<Impl>(file, options, catalog, std::move(config), rows, std::move(transforms));
  impl_->columns = trained_columns(file, given);
}

Network::Network(const ModelFile& file, const NetworkOptions& options, const Catalog& catalog, Config config,
                 const RowSpec& model_rows) {
  const FloatMode mode;
  impl_ = std::make_unique<Impl>(file, options, catalog, std::move(config), model_rows, nullptr);
}

Network::Network(Network&&) noexcept = default;
Network& Network::operator=(Network&&) noexcept = default;
Network::~Network() = default;

const Spec& Network::resolved() const { return impl_->config.resolved; }
const Config& Network::config() const { return impl_->config; }
const RowSpec& Network::fields() const { return *impl_->input; }
const std::vector<std::vector<std::string>>& Network::columns() const { return impl_->columns; }
const TensorSpec& Network::output() const { return impl_->model->output(); }
const std::vector<std::string>& Network::classes() const { return impl_->answers->classes(); }
const Answers& Network::answers() const { return *impl_->answers; }

RowBlock Network::make_rows(int64_t count) const {
  if (count < 0) throw ShapeError(cat("there are ", count, " rows"));
  RowBlock rows;
  rows.configure(impl_->input, std::max<int64_t>(count, 1));
  rows.resize(count);
  return rows;
}

void Network::predict_numbered(const RowBlock& rows, std::span<float> outputs) const {
  if (!(rows.spec() == fields())) {
    throw ShapeError(cat("the rows are (", rows.spec().text(), "), the model reads (", fields().text(), ")"));
  }
  impl_->predict(rows.size(), outputs, [&](RowBlock& block, int64_t begin, int64_t count) {
    for (int64_t row = 0; row < count; ++row) block.copy_row(rows, begin + row, row);
  });
}

namespace {

// Names the row of an error that has only its number.
template <class Body>
void with_named_row(const Body& predict) {
  try {
    predict();
  } catch (RowError& error) {
    error.add_context(cat("row ", error.row));
    throw;
  }
}

}  // namespace

void Network::predict(const RowBlock& rows, std::span<float> outputs) const {
  with_named_row([&] { predict_numbered(rows, outputs); });
}

void Network::predict(int64_t rows, Fill fill, std::span<float> outputs) const {
  with_named_row([&] { impl_->predict(rows, outputs, fill); });
}

namespace {

// The number of values in a row. Throws ShapeError unless a row is a single field of float32 or uint8.
size_t values_of_row(const RowSpec& fields) {
  const FieldSpec* const one = fields.fields.size() == 1 && !fields.fields[0].varies() ? &fields.fields[0] : nullptr;
  const bool fits = one != nullptr && (one->dtype == DType::f32 || one->dtype == DType::u8);
  if (fits) return static_cast<size_t>(one->shape.elements());
  throw ShapeError(cat("a row is (", fields.text(), "), not one field of float32 or uint8"), {},
                   "fill the rows of make_rows()");
}

// Writes the values of a row whose only field is `field`.
void write_row(std::span<const float> values, int64_t row, const FieldSpec& field, std::byte* out) {
  if (field.dtype == DType::f32) {
    std::memcpy(out, values.data(), values.size_bytes());
    return;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const bool inside = values[i] >= 0 && values[i] <= 255;
    const auto byte = inside ? static_cast<uint8_t>(values[i]) : uint8_t{0};
    if (static_cast<float>(byte) != values[i]) {
      throw DataError(cat("row ", row, ": the field ", field.name, " holds ", values[i],
                          ", expected a whole number from 0 to 255"));
    }
    out[i] = std::byte{byte};
  }
}

}  // namespace

void Network::predict(std::span<const float> values, std::span<float> outputs) const {
  const size_t width = values_of_row(fields());
  if (width == 0 || values.size() % width != 0) {
    throw ShapeError(cat("a row has ", width, " values, got ", values.size()));
  }
  const auto fill = [&](RowBlock& block, int64_t begin, int64_t count) {
    for (int64_t row = 0; row < count; ++row) {
      write_row(values.subspan(static_cast<size_t>(begin + row) * width, width), begin + row, block.spec().fields[0],
                block.at(0, row));
    }
  };
  predict(static_cast<int64_t>(values.size() / width), fill, outputs);
}

std::vector<float> Network::predict(std::span<const float> values) const {
  const size_t width = std::max<size_t>(values_of_row(fields()), 1);
  std::vector<float> outputs(values.size() / width * static_cast<size_t>(output().shape.elements()));
  predict(values, outputs);
  return outputs;
}

Answer Network::answer(std::span<const float> outputs) const {
  const FloatMode mode;
  const Answers& answers = *impl_->answers;
  if (std::ssize(outputs) == answers.outputs()) return answers.answer(outputs);
  throw ShapeError(cat("expected the ", count_of(answers.outputs(), "output"), " of a row, got ", std::ssize(outputs)));
}

}  // namespace millrace
