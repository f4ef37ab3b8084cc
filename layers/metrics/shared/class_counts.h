// ClassCountsMetric: the common part of precision, recall and f1. For each class it adds up three weights: of the rows
// that are predicted as the class, of the rows that are labelled with it, and of the rows that are both.
//
// With one logit the only class is "yes". With several, the metric is the mean over the classes that occur in labels or
// predictions, as scikit-learn's macro average. A division by zero gives 0. A prediction that says nothing (labels.h)
// belongs to no class. Without weights the counts are exact, whatever the batches.
#pragma once

#include <memory>
#include <string_view>

#include "millrace/layers/loss.h"

namespace millrace {

// The weights of the rows for one class.
struct ClassCounts {
  double right, predicted, labelled;
};

inline double quotient(double part, double whole) { return whole > 0 ? part / whole : 0; }

// The score of one class; 0 for a class that does not occur.
using ClassScore = double (*)(const ClassCounts&);

class ClassCountsMetric : public Metric {
 public:
  void check(const TensorSpec& prediction, const TensorSpec& label) const final;
  std::unique_ptr<MetricPlan> plan(Context& context, const MetricPlanArgs& args) const final;
  std::unique_ptr<MetricAccumulator> accumulator() const final;
  bool less_is_better() const final { return false; }
  Predictions predictions() const override { return Predictions::logits; }

 protected:
  // `kind` names the metric in messages; a literal.
  ClassCountsMetric(std::string_view kind, ClassScore score) : kind_(kind), score_(score) {}

 private:
  std::string_view kind_;
  ClassScore score_;
};

}  // namespace millrace
