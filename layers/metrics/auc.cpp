// auc: how well a logit sorts the rows: the area under the ROC curve.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/tensor.h"
#include "millrace/core/text.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/metrics/labels.h"
#include "millrace/layers/metrics/row_mean.h"

namespace millrace {
namespace {

// The partial holds a key for each row, which sorts rows by their scores. From the highest bit on, a key has 32 bits
// that ascend with the score as float32; whether the label is yes; and the weight without its sign. A NaN is never
// right: as the score of a positive row it comes before all numbers, as the score of another row after them.
constexpr int kScoreAt = 32, kPositiveAt = 31;
constexpr uint32_t kNanOfPositive = 0, kNanOfNegative = 0xffffffff, kWeightBits = 0x7fffffff;

struct Row {
  MILLRACE_HD static uint64_t key(float score, bool positive, float weight) {
    const auto bits = std::bit_cast<uint32_t>(score + 0.0F);  // makes -0 a 0
    const uint32_t number = bits >> 31 != 0 ? ~bits : bits | 0x80000000U;
    const uint32_t order = score == score ? number : positive ? kNanOfPositive : kNanOfNegative;
    const uint32_t counts = weight > 0 ? std::bit_cast<uint32_t>(weight) : 0;
    return uint64_t{order} << kScoreAt | uint64_t{positive} << kPositiveAt | counts;
  }
  explicit Row(uint64_t key)
      : score(static_cast<uint32_t>(key >> kScoreAt)),
        positive((key >> kPositiveAt & 1) != 0),
        weight(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(key) & kWeightBits))) {}

  uint32_t score;  // the bits that ascend with the score
  bool positive;
  double weight;  // 0: the row does not count
};

template <class T, class Label>
struct Score {
  ClassRows<T, Label> rows;
  RowWeight weight;
  uint64_t* keys;
  MILLRACE_HD void operator()(int64_t row) const {
    const auto logit = static_cast<float>(rows.logits[row * rows.logit_stride]);
    keys[row] = Row::key(logit, rows.labelled(row) == 1, static_cast<float>(weight(row)));
  }
};

class AucPlan final : public MetricPlan {
 public:
  explicit AucPlan(const MetricPlanArgs& args) : batch_(args.prediction.rows()) {
    require_label_dtype("auc", args.label.spec());
  }

  size_t partial_bytes() const override { return static_cast<size_t>(batch_) * sizeof(uint64_t); }

  void run(Context& context, const MetricArgs& args) override {
    const RowWeight weight = weight_of(args);
    for_each_class_row(context, args.prediction, args.label,
                       [&]<class T, class Label>(const ClassRows<T, Label>& rows) {
                         return Score<T, Label>{rows, weight, static_cast<uint64_t*>(args.partial)};
                       });
  }

 private:
  int64_t batch_;
};

// Up to this many rows are kept. If there are more, only the weights in each bin of scores are kept.
constexpr size_t kExactRows = size_t{1} << 20;
// A bin holds the scores that agree in their leading bits, in the order of the scores; the first and the last one are
// for NaN.
constexpr int kBinBits = 18;
constexpr size_t kBins = (size_t{1} << kBinBits) + 2;

// The weights of all rows with one score.
struct Tied {
  double negative = 0, positive = 0;
};

// Adds up, over scores in ascending order: twice the weight of the pairs in which the positive row has the higher
// score, where ties count half; and the weights of negative and of positive rows.
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

size_t bin_of(const Row& row) {
  if (row.score == kNanOfPositive) return 0;
  return row.score == kNanOfNegative ? kBins - 1 : 1 + (row.score >> (32 - kBinBits));
}

// Rows are sorted by their whole keys, and bins are filled in the order of the rows. So the division into batches
// changes nothing, not even the last bit.
class AucAccumulator final : public MetricAccumulator {
 public:
  size_t bytes(int64_t rows) const override {
    const auto count = static_cast<size_t>(rows);
    return std::min(count, kExactRows) * sizeof(uint64_t) + (count > kExactRows ? kBins * sizeof(Tied) : 0);
  }
  void reserve(int64_t rows) override {
    keys_.reserve(std::min(static_cast<size_t>(rows), kExactRows));
    if (static_cast<size_t>(rows) > kExactRows) bins_.reserve(kBins);
  }

  void add(std::span<const std::byte> partial, int64_t) override {
    for (size_t at = 0; at < partial.size(); at += sizeof(uint64_t)) {
      uint64_t key = 0;
      std::memcpy(&key, partial.data() + at, sizeof key);
      if (Row(key).weight > 0) add(key);
    }
  }

  double value() const override {
    PairCount pairs;
    for (const Tied& bin : bins_) pairs.add(bin);
    if (!bins_.empty()) return pairs.area();
    sort();
    for (auto key = keys_.begin(); key != keys_.end();) {
      const uint32_t score = Row(*key).score;
      Tied tied;
      for (; key != keys_.end() && Row(*key).score == score; ++key) count(Row(*key), tied);
      pairs.add(tied);
    }
    return pairs.area();
  }

  void reset() override {
    keys_.clear();
    bins_.clear();
  }

  void save(State& state) const override {
    std::vector<double> weights;
    for (const Tied& bin : bins_) weights.insert(weights.end(), {bin.negative, bin.positive});
    state.set("rows", keys_);
    state.set_reals("bins", weights);
  }
  void restore(const State& state) override {
    const std::vector<uint64_t>& keys = state.values("rows");
    const std::vector<double> weights = state.reals("bins");
    const bool right = weights.empty() ? keys.size() <= kExactRows : keys.empty() && weights.size() == 2 * kBins;
    if (!right) {
      throw DataError(cat("the saved state of auc has ", keys.size(), " rows and ", weights.size() / 2, " bins"), {},
                      cat("it has at most ", kExactRows, " rows, or ", kBins, " bins"));
    }
    keys_.assign(keys.begin(), keys.end());
    bins_.resize(weights.size() / 2);
    for (size_t i = 0; i < bins_.size(); ++i) bins_[i] = {weights[2 * i], weights[2 * i + 1]};
  }

 private:
  static void count(const Row& row, Tied& tied) { (row.positive ? tied.positive : tied.negative) += row.weight; }

  void add(uint64_t key) {
    if (bins_.empty() && keys_.size() == kExactRows) {
      sort();
      bins_.resize(kBins);
      for (const uint64_t kept : keys_) count(Row(kept), bins_[bin_of(Row(kept))]);
      keys_.clear();
    }
    if (bins_.empty()) {
      keys_.push_back(key);
    } else {
      count(Row(key), bins_[bin_of(Row(key))]);
    }
  }

  void sort() const { std::sort(keys_.begin(), keys_.end()); }

  mutable std::vector<uint64_t> keys_;  // value() sorts them in place
  std::vector<Tied> bins_;              // empty up to kExactRows
};

class Auc final : public Metric {
 public:
  static constexpr std::string_view kDoc =
      "area under the ROC curve of one logit, compared as float32, ties count half; NaN unless both labels occur; "
      "exact up to a million rows (1048576, of 8 bytes each); with more rows, scores that agree in 18 bits are ties";

  static std::optional<Spec> suit(const FoundField& label) {
    return plain_if(label.has(FoundField::Holds::codes) && label.classes == 2);
  }

  bool less_is_better() const override { return false; }
  Predictions predictions() const override { return Predictions::logits; }

  void check(const TensorSpec& prediction, const TensorSpec& label) const override {
    require_float(prediction);
    if (prediction.shape == Shape{1} && label.shape.elements() == 1 && is_label_dtype(label.dtype)) return;
    throw ShapeError(cat("auc does not fit the prediction ", prediction.text(), " and the label ", label.text()), {},
                     "it takes one logit and one label per row");
  }
  std::unique_ptr<MetricPlan> plan(Context&, const MetricPlanArgs& args) const override {
    return std::make_unique<AucPlan>(args);
  }
  std::unique_ptr<MetricAccumulator> accumulator() const override { return std::make_unique<AucAccumulator>(); }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_METRIC(auc, Auc);
