// softmax_cross_entropy: the loss of one class out of several, by a logit for each.
#include <limits>

#include "millrace/core/math.h"
#include "millrace/core/parallel.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/layer.h"
#include "millrace/layers/losses/elementwise_loss.h"

namespace millrace {
namespace {

// A row's loss: log(sum of exp(z)) minus the mean of z under the wanted distribution, all relative to the largest z.
// Its slope: dl/dz = softmax(z) - wanted distribution.
template <class T>
struct RowLoss {
  const T* z;
  const int32_t* label;
  RowShares<T> rows;
  T* term;
  T* gradient;  // null when nobody needs it
  int64_t stride, label_stride, gradient_stride, columns;
  double smoothing;

  template <class Lanes>
  MILLRACE_HD void operator()(int64_t row, const Lanes& lanes) const {
    const T* const logits = z + row * stride;
    T largest = lanes.most(columns, [&](int64_t j) { return logits[j]; });
    // If all logits are minus infinity, the difference from the largest one would be NaN.
    constexpr T lowest = std::numeric_limits<T>::lowest();
    largest = largest < lowest ? lowest : largest;
    const SumPair sums = lanes.sum(columns, [&](int64_t j) {
      return SumPair{static_cast<double>(math::exp(logits[j] - largest)), static_cast<double>(logits[j])};
    });
    const T w = rows.weight_of(row);
    if (lanes.first()) term[row] = w != T(0) ? w * loss_of(row, largest, sums) : T(0);
    if (gradient != nullptr) store_gradient(row, lanes, w, largest, static_cast<T>(1 / sums.first));
  }

  // `sums` has the sum of exp(z - largest), and the sum of z.
  MILLRACE_HD T loss_of(int64_t row, T largest, const SumPair& sums) const {
    const auto top = static_cast<double>(largest);
    const double wanted = (1 - smoothing) * (wanted_logit(row) - top);
    // Without smoothing a logit of minus infinity must not count: 0 times it is NaN.
    const double others = smoothing != 0 ? smoothing * (sums.second / static_cast<double>(columns) - top) : 0;
    return static_cast<T>(math::log(sums.first) - wanted - others);
  }

  // NaN for a label that is not a class, so that nothing is read outside the row. The step refuses such labels before.
  MILLRACE_HD double wanted_logit(int64_t row) const {
    const int64_t wanted = label[row * label_stride];
    const bool there = wanted >= 0 && wanted < columns;
    return there ? static_cast<double>(z[row * stride + wanted]) : std::numeric_limits<double>::quiet_NaN();
  }

  template <class Lanes>
  MILLRACE_HD void store_gradient(int64_t row, const Lanes& lanes, T w, T largest, T scale) const {
    const T* const logits = z + row * stride;
    T* const out = gradient + row * gradient_stride;
    const int64_t wanted = label[row * label_stride];
    const T everywhere = static_cast<T>(smoothing / static_cast<double>(columns));
    const T at_label = everywhere + static_cast<T>(1 - smoothing);
    const T share = rows.share_of(w);
    lanes.each(columns, [&](int64_t j) {
      const T softmax = math::exp(logits[j] - largest) * scale;
      out[j] = w != T(0) ? (softmax - (j == wanted ? at_label : everywhere)) * share : T(0);
    });
  }
};

class Plan final : public LossPlan {
 public:
  Plan(const LossPlanArgs& args, double smoothing)
      : rows_(args.prediction.rows()), columns_(args.prediction.columns()), smoothing_(smoothing), mean_(args, 1) {
    require_dtype("softmax_cross_entropy", args.label.spec(), DType::i32);
  }

  size_t scratch_bytes() const override { return mean_.scratch_bytes(); }

  void run(Context& context, const LossArgs& args) override {
    const ConstTensorView& z = args.prediction;
    dispatch_float(z.dtype(), [&]<class T>() {
      mean_.run<T>(context, args, [&](const RowShares<T>& shares, T* terms) {
        for_each_row_by_lanes(
            context, rows_, columns_,
            RowLoss<T>{z.as<T>(), args.label.as<int32_t>(), shares, terms, args.gradient.as<T>(), z.stride(),
                       args.label.stride(), args.gradient.stride(), columns_, smoothing_});
      });
    });
  }

 private:
  int64_t rows_, columns_;
  double smoothing_;
  WeightedMean mean_;
};

class SoftmaxCrossEntropy final : public Loss {
 public:
  struct Options {
    double label_smoothing = 0;
    void declare(OptionReader& o) {
      // With 1, labels would not count.
      o.optional("label_smoothing", label_smoothing, {.min = 0, .max = 1, .below_max = true},
                 "the share of the wanted distribution that all classes share equally");
    }
  };
  static constexpr std::string_view kDoc = "cross-entropy of the softmax of several logits with the index of a class";

  static std::optional<Spec> suit(const FoundField& label) {
    return plain_if(label.has(FoundField::Holds::codes) && label.classes != 2);
  }

  explicit SoftmaxCrossEntropy(const Options& options) : smoothing_(options.label_smoothing) {}

  void check(const TensorSpec& prediction, const TensorSpec& label) const override {
    require_float(prediction);
    require_vector("softmax_cross_entropy", prediction);
    if (prediction.shape[0] >= 2 && label.shape.elements() == 1) return;
    throw ShapeError(
        cat("softmax_cross_entropy does not fit the prediction ", prediction.text(), " and the label ", label.text()),
        {}, "it takes a logit for each of two or more classes, and one class index per row");
  }
  LabelSpec label(const TensorSpec& prediction) const override {
    return {.dtype = DType::i32,
            .range = ValueRange{
                .min = 0,
                .max = static_cast<double>(prediction.shape.elements() - 1),
                .hint = "classes are counted from 0, and the last layer needs a unit for each; without a class "
                        "(-1) a row can only be predicted"}};
  }
  std::unique_ptr<LossPlan> plan(Context&, const LossPlanArgs& args) const override {
    return std::make_unique<Plan>(args, smoothing_);
  }

  Predictions predictions() const override { return Predictions::softmax_logits; }

 private:
  double smoothing_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LOSS(softmax_cross_entropy, SoftmaxCrossEntropy);
