#include "millrace/api/c/metric.h"

#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/state.h"
#include "millrace/core/tensor.h"
#include "millrace/core/text.h"

namespace millrace::c {

namespace {

// A batch's partial: how many numbers a row has as prediction and as label, and whether it has a weight. Then come
// predictions, labels and weights of all its rows, as doubles.
struct Head {
  double outputs = 0, labels = 0, weighted = 0;
};

template <class T>
void widen(const ConstTensorView& view, double*& out) {
  for (int64_t row = 0; row < view.rows(); ++row) {
    const T* const from = view.as<T>() + row * view.stride();
    for (int64_t i = 0; i < view.columns(); ++i) *out++ = static_cast<double>(from[i]);
  }
}

void write_doubles(const ConstTensorView& view, double*& out) {
  switch (view.dtype()) {
    case DType::f32: return widen<float>(view, out);
    case DType::f64: return widen<double>(view, out);
    case DType::i32: return widen<int32_t>(view, out);
    case DType::i64: return widen<int64_t>(view, out);
    case DType::u8: return widen<uint8_t>(view, out);
  }
}

class ProgramMetricPlan final : public MetricPlan {
 public:
  explicit ProgramMetricPlan(const MetricPlanArgs& args)
      : numbers_(args.prediction.elements() + args.label.elements() + (args.weighted ? args.prediction.rows() : 0)) {}

  size_t partial_bytes() const override { return sizeof(Head) + static_cast<size_t>(numbers_) * sizeof(double); }

  void run(Context&, const MetricArgs& args) override {
    auto* out = static_cast<double*>(args.partial);
    *out++ = static_cast<double>(args.prediction.columns());
    *out++ = static_cast<double>(args.label.columns());
    *out++ = args.weight ? 1 : 0;
    write_doubles(args.prediction, out);
    write_doubles(args.label, out);
    if (args.weight) write_doubles(args.weight, out);
  }

 private:
  int64_t numbers_;
};

class ProgramMetricAccumulator final : public MetricAccumulator {
 public:
  explicit ProgramMetricAccumulator(const ProgramMetric& metric) : metric_(metric) {}

  // As long as no row was seen, rows are taken to have a few numbers.
  size_t bytes(int64_t rows) const override {
    constexpr double kFew = 4;
    const double numbers = rows_ > 0 ? head_.outputs + head_.labels + head_.weighted : kFew;
    return static_cast<size_t>(static_cast<double>(rows) * numbers) * sizeof(double);
  }

  void add(std::span<const std::byte> partial, int64_t rows) override {
    std::memcpy(&head_, partial.data(), sizeof head_);
    const std::byte* from = partial.data() + sizeof head_;
    rows_ += rows;
    append(predictions_, from, static_cast<double>(rows) * head_.outputs);
    append(labels_, from, static_cast<double>(rows) * head_.labels);
    append(weights_, from, static_cast<double>(rows) * head_.weighted);
  }

  double value() const override {
    if (rows_ == 0) return std::numeric_limits<double>::quiet_NaN();
    const millrace_judged judged = {.rows = rows_,
                                    .outputs = static_cast<int64_t>(head_.outputs),
                                    .labels_of_a_row = static_cast<int64_t>(head_.labels),
                                    .predictions = predictions_.data(),
                                    .labels = labels_.data(),
                                    .weights = weights_.empty() ? nullptr : weights_.data()};
    return metric_.call(metric_.user, &judged);
  }

  void reset() override {
    rows_ = 0;
    predictions_.clear();
    labels_.clear();
    weights_.clear();
  }

  void save(State& state) const override {
    state.set("rows", static_cast<uint64_t>(rows_));
    state.set_reals("predictions", predictions_);
    state.set_reals("labels", labels_);
    state.set_reals("weights", weights_);
  }
  void restore(const State& state) override {
    rows_ = state.count<int64_t>("rows");
    predictions_ = state.reals("predictions");
    labels_ = state.reals("labels");
    weights_ = state.reals("weights");
    head_ = {of_a_row(predictions_), of_a_row(labels_), of_a_row(weights_)};
  }

 private:
  static void append(std::vector<double>& to, const std::byte*& from, double count) {
    const auto numbers = static_cast<size_t>(count);
    const size_t before = to.size();
    to.resize(before + numbers);
    std::memcpy(to.data() + before, from, numbers * sizeof(double));
    from += numbers * sizeof(double);
  }

  double of_a_row(const std::vector<double>& numbers) const {
    const auto rows = static_cast<size_t>(rows_);
    const size_t each = rows == 0 ? 0 : numbers.size() / rows;
    if (each * rows == numbers.size()) return static_cast<double>(each);
    throw DataError(cat("the saved state of ", metric_.kind, " has ", numbers.size(), " numbers for ", rows, " rows"));
  }

  const ProgramMetric metric_;
  Head head_;
  int64_t rows_ = 0;
  std::vector<double> predictions_, labels_, weights_;
};

class ProgramMetricKind final : public Metric {
 public:
  explicit ProgramMetricKind(ProgramMetric metric) : metric_(std::move(metric)) {}

  void check(const TensorSpec&, const TensorSpec&) const override {}
  std::unique_ptr<MetricPlan> plan(Context& context, const MetricPlanArgs& args) const override {
    if (!context.device().is_cpu()) {
      throw ConfigError(cat("the metric ", metric_.kind, " is computed by this program, on the CPU"), {},
                        "set device: cpu");
    }
    return std::make_unique<ProgramMetricPlan>(args);
  }
  std::unique_ptr<MetricAccumulator> accumulator() const override {
    return std::make_unique<ProgramMetricAccumulator>(metric_);
  }
  bool less_is_better() const override { return metric_.less_is_better; }

 private:
  const ProgramMetric metric_;
};

}  // namespace

MetricRegistry::Entry metric_entry(const ProgramMetric& metric) {
  return {.doc = "a metric of this program",
          .describe = describe_options<NoOptions>,
          .make = [metric](const Spec& options, Spec* resolved) -> std::unique_ptr<Metric> {
            read_options<NoOptions>(options, resolved);
            return std::make_unique<ProgramMetricKind>(metric);
          }};
}

}  // namespace millrace::c
