#include <algorithm>
#include <limits>

#include "millrace/core/dispatch.h"
#include "millrace/core/math.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/for_each_row.h"
#include "millrace/layers/losses/shared/weighted_mean.h"
#include "millrace/layers/shape_checks.h"

namespace millrace {
namespace {

// The largest of some logits of a row, the sum of exp(z - largest), and their own sum.
template <class T>
struct Part {
  double exponentials, total;
  T largest;
};

// Index i is part i % parts of row i / parts: every parts-th logit, so that neighbouring threads read neighbours.
template <class T>
struct SumPart {
  const T* z;
  Part<T>* out;
  int64_t stride, columns, parts;

  MILLRACE_HD void operator()(int64_t i) const {
    const T* const logits = z + i / parts * stride;
    const int64_t first = i % parts;
    T largest = logits[first];
    for (int64_t j = first; j < columns; j += parts) largest = logits[j] > largest ? logits[j] : largest;
    // Logits of minus infinity alone add nothing; minus infinity less itself would be NaN.
    constexpr T lowest = std::numeric_limits<T>::lowest();
    largest = largest < lowest ? lowest : largest;
    double exponentials = 0, total = 0;
    for (int64_t j = first; j < columns; j += parts) {
      exponentials += static_cast<double>(math::exp(logits[j] - largest));
      total += static_cast<double>(logits[j]);
    }
    out[i] = {exponentials, total, largest};
  }
};

// What the gradient needs of a row: its softmax is exp(z - largest) * scale.
template <class T>
struct Normalizer {
  T largest, scale;
};

// The row's loss: log(sum of exp(z)) less the mean of z under the wanted distribution, all relative to the largest z.
template <class T>
struct RowTerm {
  const T* z;
  const int32_t* label;
  const Part<T>* part;
  RowShares<T> rows;
  T* term;
  Normalizer<T>* normalizer;
  int64_t stride, label_stride, columns, parts;
  double smoothing;

  MILLRACE_HD void operator()(int64_t row) const {
    const Part<T>* const of_row = part + row * parts;
    T largest = of_row[0].largest;
    for (int64_t i = 1; i < parts; ++i) largest = of_row[i].largest > largest ? of_row[i].largest : largest;
    double exponentials = 0, total = 0;
    for (int64_t i = 0; i < parts; ++i) {
      exponentials += of_row[i].exponentials * static_cast<double>(math::exp(of_row[i].largest - largest));
      total += of_row[i].total;
    }
    normalizer[row] = {largest, static_cast<T>(1 / exponentials)};
    const double wanted = (1 - smoothing) * (wanted_logit(row) - static_cast<double>(largest));
    // Without smoothing a logit of minus infinity must not count: 0 times it is NaN.
    const double others =
        smoothing != 0 ? smoothing * (total / static_cast<double>(columns) - static_cast<double>(largest)) : 0;
    const T w = rows.weight_of(row);
    term[row] = w != T(0) ? w * static_cast<T>(math::log(exponentials) - wanted - others) : T(0);
  }

  // NaN for a label that is no class: the step lets none through, and nothing is read outside the row.
  MILLRACE_HD double wanted_logit(int64_t row) const {
    const int64_t wanted = label[row * label_stride];
    const bool there = wanted >= 0 && wanted < columns;
    return there ? static_cast<double>(z[row * stride + wanted]) : std::numeric_limits<double>::quiet_NaN();
  }
};

// dl/dz = softmax(z) - wanted distribution.
template <class T>
struct Slope {
  const T* z;
  const int32_t* label;
  const Normalizer<T>* normalizer;
  RowShares<T> rows;
  T* gradient;
  int64_t stride, label_stride, gradient_stride;
  T at_label, everywhere;  // the wanted distribution

  MILLRACE_HD void operator()(int64_t row, int64_t column) const {
    const T softmax = math::exp(z[row * stride + column] - normalizer[row].largest) * normalizer[row].scale;
    const T wanted = label[row * label_stride] == column ? everywhere + at_label : everywhere;
    const T w = rows.weight_of(row);
    gradient[row * gradient_stride + column] = w != T(0) ? (softmax - wanted) * rows.share_of(w) : T(0);
  }
};

// Parts of a row on CUDA; the CPU reads a row in one go.
constexpr int64_t kParts = 32;

class Plan final : public LossPlan {
 public:
  Plan(const Context& context, const LossPlanArgs& args, double smoothing)
      : rows_(args.prediction.rows()),
        columns_(args.prediction.columns()),
        parts_(context.device().is_cpu() ? 1 : std::min(kParts, columns_)),
        smoothing_(smoothing),
        mean_(args, 1),
        parts_at_(aligned_bytes(mean_.scratch_bytes())),
        normalizers_at_(parts_at_ + aligned_bytes(static_cast<size_t>(rows_ * parts_) * sizeof(Part<double>))) {
    require_dtype("softmax_cross_entropy", args.label.spec(), DType::i32);
  }

  size_t scratch_bytes() const override {
    return normalizers_at_ + static_cast<size_t>(rows_) * sizeof(Normalizer<double>);
  }

  void run(Context& context, const LossArgs& args) override {
    dispatch_float(args.prediction.dtype(), [&]<class T>() {
      mean_.run<T>(context, args,
                   [&](const RowShares<T>& shares, T* terms) { write<T>(context, args, shares, terms); });
    });
  }

 private:
  template <class T>
  void write(Context& context, const LossArgs& args, const RowShares<T>& shares, T* terms) const {
    auto* const scratch = static_cast<std::byte*>(args.scratch);
    auto* const part = reinterpret_cast<Part<T>*>(scratch + parts_at_);
    auto* const normalizer = reinterpret_cast<Normalizer<T>*>(scratch + normalizers_at_);
    const T* const z = args.prediction.as<T>();
    const auto* const label = args.label.as<int32_t>();
    const int64_t stride = args.prediction.stride(), label_stride = args.label.stride();
    for_each_row(context, rows_ * parts_, columns_ / parts_, SumPart<T>{z, part, stride, columns_, parts_});
    for_each_index(
        context, rows_,
        RowTerm<T>{z, label, part, shares, terms, normalizer, stride, label_stride, columns_, parts_, smoothing_});
    if (!args.gradient) return;
    for_each_row_column(
        context, rows_, columns_,
        Slope<T>{z, label, normalizer, shares, args.gradient.as<T>(), stride, label_stride, args.gradient.stride(),
                 static_cast<T>(1 - smoothing_), static_cast<T>(smoothing_ / static_cast<double>(columns_))});
  }

  int64_t rows_, columns_, parts_;
  double smoothing_;
  WeightedMean mean_;
  size_t parts_at_, normalizers_at_;
};

class SoftmaxCrossEntropy final : public Loss {
 public:
  struct Options {
    double label_smoothing = 0;
    void declare(OptionReader& o) {
      // With 1 no label would count.
      o.optional("label_smoothing", label_smoothing, {.min = 0, .max = 1, .below_max = true},
                 "the share of the wanted distribution that all classes have alike");
    }
  };
  static constexpr std::string_view kDoc = "cross-entropy of the softmax of several logits with the index of a class";

  explicit SoftmaxCrossEntropy(const Options& options) : smoothing_(options.label_smoothing) {}

  void check(const TensorSpec& prediction, const TensorSpec& label) const override {
    require_float(prediction);
    require_vector("softmax_cross_entropy", prediction);
    if (prediction.shape[0] >= 2 && label.shape.elements() == 1) return;
    throw ShapeError(
        cat("softmax_cross_entropy does not fit the prediction ", prediction.text(), " and the label ", label.text()),
        {}, "it takes a logit for each of two or more classes, and one class index a row");
  }
  LabelSpec label(const TensorSpec& prediction) const override {
    return {.dtype = DType::i32,
            .range = ValueRange{.min = 0,
                                .max = static_cast<double>(prediction.shape.elements() - 1),
                                .hint = "classes are counted from 0, and the last layer needs a unit for each"}};
  }
  std::unique_ptr<LossPlan> plan(Context& context, const LossPlanArgs& args) const override {
    return std::make_unique<Plan>(context, args, smoothing_);
  }

 private:
  double smoothing_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LOSS(softmax_cross_entropy, SoftmaxCrossEntropy);
