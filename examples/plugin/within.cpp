// A plug-in with a metric: within, the share of rows whose prediction is near the label.
#include <millrace/plugin.h>

using namespace millrace;

namespace {

// For row r: its weight if every value is within the tolerance of the label, else 0. A NaN is never within it.
template <class T>
struct RowIsWithin {
  const T* x;
  const float* y;
  int64_t x_stride, y_stride, columns;
  double tolerance;
  RowWeight weight;
  double* hits;  // (B)
  MILLRACE_HD void operator()(int64_t r) const {
    bool within = true;
    for (int64_t c = 0; c < columns; ++c) {
      const double error = static_cast<double>(x[r * x_stride + c]) - static_cast<double>(y[r * y_stride + c]);
      within = within && error <= tolerance && -error <= tolerance;
    }
    hits[r] = within ? weight(r) : 0;
  }
};

// x and y are (B, ..). RowMeanPlan adds up what write() stores, and divides by the weight of the rows.
class WithinPlan final : public RowMeanPlan {
 public:
  WithinPlan(const MetricPlanArgs& args, double tolerance) : RowMeanPlan(args), tolerance_(tolerance) {}

 private:
  void write(Context& context, const MetricArgs& args, const RowWeight& weight, double* hits) const override {
    const ConstTensorView &x = args.prediction, &y = args.label;
    dispatch_float(x.dtype(), [&]<class T>() {
      for_each_row(
          context, x.rows(), x.columns(),
          RowIsWithin<T>{x.as<T>(), y.as<float>(), x.stride(), y.stride(), x.columns(), tolerance_, weight, hits});
    });
  }

  double tolerance_;
};

class Within final : public Metric {
 public:
  struct Options {
    double tolerance = 0.5;
    void declare(OptionReader& o) { o.optional("tolerance", tolerance, {.min = 0}, "how far a value may be off"); }
  };
  static constexpr std::string_view kDoc = "the share of rows whose values are all within a tolerance of the label's";

  explicit Within(const Options& options) : options_(options) {}

  void check(const TensorSpec& prediction, const TensorSpec& label) const override {
    require_float(prediction);
    require_same_shape("within", prediction, label);
    require_dtype("within", label, DType::f32);
  }
  std::unique_ptr<MetricPlan> plan(Context&, const MetricPlanArgs& args) const override {
    require_dtype("within", args.label.spec(), DType::f32);
    return std::make_unique<WithinPlan>(args, options_.tolerance);
  }
  std::unique_ptr<MetricAccumulator> accumulator() const override { return std::make_unique<RowMeanAccumulator>(); }
  bool less_is_better() const override { return false; }
  Predictions predictions() const override { return Predictions::numbers; }

 private:
  Options options_;
};

}  // namespace

MILLRACE_PLUGIN(catalog) { catalog.add_metric<Within>("within"); }
