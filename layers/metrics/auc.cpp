#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <tuple>
#include <vector>

#include "millrace/core/dispatch.h"
#include "millrace/layers/catalog.h"
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

// Rows up to this many are kept; of more, only what falls into which bin of scores.
constexpr size_t kExactRows = size_t{1} << 20;
// A bin holds the scores that agree in their leading bits as float32, in the order of the scores; the first and the
// last one are for NaN.
constexpr int kBinBits = 18;
constexpr size_t kBins = (size_t{1} << kBinBits) + 2;

// The weights of the rows of one score.
struct Tied {
  double negative = 0, positive = 0;
};

// Twice the weight of the pairs in which the positive row has the higher score, ties counting half, and the weights of
// either kind, over scores that come in ascending order.
class PairCount {
 public:
  void add(const Tied& tied) {
    won_ += tied.positive * (2 * negatives_ + tied.negative);
    negatives_ += tied.negative;
    positives_ += tied.positive;
  }
  double area() const {
    const bool defined = negatives_ > 0 && positives_ > 0;
    return defined ? won_ / (2 * negatives_ * positives_) : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  double won_ = 0, negatives_ = 0, positives_ = 0;
};

size_t bin_of(const Scored& row) {
  if (row.place != 0) return row.place < 0 ? 0 : kBins - 1;
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(row.score) + 0.0F);  // one zero
  const uint32_t ascending = bits >> 31 != 0 ? ~bits : bits | 0x80000000U;
  return 1 + (ascending >> (32 - kBinBits));
}

// Rows are sorted by all that they hold, and bins are filled in the order of the rows: how they were shared out to
// batches changes nothing, not even the last bit.
class AucAccumulator final : public MetricAccumulator {
 public:
  size_t bytes(int64_t rows) const override {
    const auto count = static_cast<size_t>(rows);
    return std::min(count, kExactRows) * sizeof(Scored) + (count > kExactRows ? kBins * sizeof(Tied) : 0);
  }
  void reserve(int64_t rows) override {
    rows_.reserve(std::min(static_cast<size_t>(rows), kExactRows));
    if (static_cast<size_t>(rows) > kExactRows) bins_.reserve(kBins);
  }

  void add(std::span<const std::byte> partial, int64_t) override {
    for (size_t at = 0; at < partial.size(); at += sizeof(Scored)) {
      Scored row{};
      std::memcpy(&row, partial.data() + at, sizeof row);
      if (row.weight > 0) add(row);
    }
  }

  double value() const override {
    PairCount pairs;
    for (const Tied& bin : bins_) pairs.add(bin);
    if (!bins_.empty()) return pairs.area();
    sort();
    for (auto row = rows_.begin(); row != rows_.end();) {
      const Scored first = *row;
      Tied tied;
      for (; row != rows_.end() && row->place == first.place && row->score == first.score; ++row) count(*row, tied);
      pairs.add(tied);
    }
    return pairs.area();
  }

  void reset() override {
    rows_.clear();
    bins_.clear();
  }

 private:
  static void count(const Scored& row, Tied& tied) {
    (row.positive != 0 ? tied.positive : tied.negative) += static_cast<double>(row.weight);
  }

  void add(const Scored& row) {
    if (bins_.empty() && rows_.size() == kExactRows) {
      sort();
      bins_.resize(kBins);
      for (const Scored& kept : rows_) count(kept, bins_[bin_of(kept)]);
      rows_.clear();
    }
    if (bins_.empty()) {
      rows_.push_back(row);
    } else {
      count(row, bins_[bin_of(row)]);
    }
  }

  void sort() const {
    std::sort(rows_.begin(), rows_.end(), [](const Scored& a, const Scored& b) {
      return std::tie(a.place, a.score, a.positive, a.weight) < std::tie(b.place, b.score, b.positive, b.weight);
    });
  }

  mutable std::vector<Scored> rows_;  // value() sorts them in place
  std::vector<Tied> bins_;            // empty up to kExactRows
};

class Auc final : public Metric {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc =
      "area under the ROC curve of one logit, ties count half; NaN unless both labels occur; exact up to a million "
      "rows "
      "(1048576, of 16 bytes each), beyond them scores that agree in 18 bits of their float32 are ties";

  explicit Auc(const Options&) {}

  bool less_is_better() const override { return false; }

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
