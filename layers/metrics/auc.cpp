#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>
#include <vector>

#include "millrace/layers/catalog.h"
#include "millrace/layers/dispatch.h"
#include "millrace/layers/metrics/labels.h"
#include "millrace/layers/metrics/row_mean.h"

namespace millrace {
namespace {

// What the partial holds of each row. A NaN is never right: as the score of a positive row it stands below all numbers
// (place -1), of another row above them (place 1).
struct Scored {
  double score;  // 0 instead of NaN
  float weight;
  int16_t positive, place;
};

template <class T, class Label>
struct Score {
  const T* logit;
  const Label* label;
  int64_t logit_stride, label_stride;
  RowWeight weight;
  Scored* out;
  MILLRACE_HD void operator()(int64_t row) const {
    const auto score = static_cast<double>(logit[row * logit_stride]);
    const bool positive = says_yes(label[row * label_stride]), number = score == score;
    const int place = number ? 0 : (positive ? -1 : 1);
    out[row] = {number ? score : 0.0, static_cast<float>(weight(row)), static_cast<int16_t>(positive ? 1 : 0),
                static_cast<int16_t>(place)};
  }
};

class AucPlan final : public MetricPlan {
 public:
  explicit AucPlan(const MetricPlanArgs& args) : batch_(args.prediction.rows()), weighted_(args.weighted) {
    require_label_dtype("auc", args.label.spec());
  }

  size_t partial_bytes() const override { return static_cast<size_t>(batch_) * sizeof(Scored); }

  void run(Context& context, const MetricArgs& args) override {
    const ConstTensorView &x = args.prediction, &label = args.label;
    const RowWeight weight{weighted_ ? args.weight.as<float>() : nullptr, args.weight.stride()};
    dispatch_float(x.dtype(), [&]<class T>() {
      dispatch_label(label.dtype(), [&]<class Label>() {
        for_each_index(context, batch_,
                       Score<T, Label>{x.as<T>(), label.as<Label>(), x.stride(), label.stride(), weight,
                                       static_cast<Scored*>(args.partial)});
      });
    });
  }

 private:
  int64_t batch_;
  bool weighted_;
};

// Keeps all rows that count, sorted by all that they hold: how they were shared out to batches changes nothing, not
// even the last bit.
class AucAccumulator final : public MetricAccumulator {
 public:
  void add(std::span<const std::byte> partial, int64_t) override {
    for (size_t at = 0; at < partial.size(); at += sizeof(Scored)) {
      Scored row{};
      std::memcpy(&row, partial.data() + at, sizeof row);
      if (row.weight > 0) rows_.push_back(row);
    }
  }

  double value() const override {
    std::sort(rows_.begin(), rows_.end(), [](const Scored& a, const Scored& b) {
      return std::tie(a.place, a.score, a.positive, a.weight) < std::tie(b.place, b.score, b.positive, b.weight);
    });
    // Twice the weight of the pairs in which the positive row has the higher score: ties count half.
    double won = 0, negatives = 0, positives = 0;
    for (auto row = rows_.begin(); row != rows_.end();) {
      const Scored first = *row;
      double tied[2] = {0, 0};
      for (; row != rows_.end() && row->place == first.place && row->score == first.score; ++row) {
        tied[row->positive] += static_cast<double>(row->weight);
      }
      won += tied[1] * (2 * negatives + tied[0]);
      negatives += tied[0];
      positives += tied[1];
    }
    const bool defined = negatives > 0 && positives > 0;
    return defined ? won / (2 * negatives * positives) : std::numeric_limits<double>::quiet_NaN();
  }

  void reset() override { rows_.clear(); }

 private:
  mutable std::vector<Scored> rows_;  // value() sorts them in place
};

class Auc final : public Metric {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc =
      "area under the ROC curve of one logit, exact, ties count half; NaN unless both labels occur; keeps 16 bytes a "
      "row";

  explicit Auc(const Options&) {}

  void check(const TensorSpec& prediction, const TensorSpec& label) const override {
    require_float(prediction);
    if (prediction.shape == Shape{1} && label.shape.elements() == 1 && is_label_dtype(label.dtype)) return;
    throw ShapeError(cat("auc does not fit the prediction ", prediction.text(), " and the label ", label.text()), {},
                     "it takes one logit and one label a row");
  }
  std::unique_ptr<MetricPlan> plan(Context&, const MetricPlanArgs& args) const override {
    return std::make_unique<AucPlan>(args);
  }
  std::unique_ptr<MetricAccumulator> accumulator() const override { return std::make_unique<AucAccumulator>(); }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_METRIC(auc, Auc);
