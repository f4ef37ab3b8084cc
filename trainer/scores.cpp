#include "millrace/trainer/scores.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace millrace {

Scores::Scores(const ScoresArgs& args) : args_(args), loss_value_(args.context.device(), 2 * sizeof(double)) {
  if (args_.metrics == nullptr) return;
  for (const NamedMetric& metric : *args_.metrics) {
    try {
      metric.metric->check(args_.prediction, args_.label);
    } catch (ShapeError& error) {
      error.set_place(metric.place);
      throw;
    }
    accumulators_.push_back(metric.metric->accumulator());
  }
  host_partials_.resize(accumulators_.size());
  values_.resize(accumulators_.size());
}

std::unique_ptr<ScorePlan> Scores::plan(const TensorView& prediction, const TensorView& label) {
  auto plan = std::make_unique<ScorePlan>();
  plan->rows_ = prediction.rows();
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  const bool counted = args_.batches > 0 && plan->rows_ <= kAny / args_.batches;
  most_rows_ = std::max(most_rows_, counted ? args_.batches * plan->rows_ : kAny);
  plan->loss_ = args_.loss.plan(args_.context, {.prediction = prediction, .label = label, .weighted = args_.weighted});
  size_t scratch = plan->loss_->scratch_bytes();
  plan->bytes_ = plan->loss_->bytes();
  for (size_t i = 0; i < accumulators_.size(); ++i) {
    plan->metrics_.push_back((*args_.metrics)[i].metric->plan(
        args_.context, {.prediction = prediction, .label = label, .weighted = args_.weighted}));
    const MetricPlan& metric = *plan->metrics_.back();
    plan->partials_.emplace_back(args_.context.device(), metric.partial_bytes());
    host_partials_[i].reserve(metric.partial_bytes());
    accumulators_[i]->reserve(most_rows_);
    scratch = std::max(scratch, metric.scratch_bytes());
    plan->bytes_ += metric.partial_bytes() + metric.bytes();
  }
  plan->scratch_ = Memory(args_.context.device(), scratch);
  plan->bytes_ += scratch;
  return plan;
}

void Scores::run(ScorePlan& plan, const ScoredBatch& batch) {
  last_ = &plan;
  batch_ = batch;
  judged_ = false;
  plan.loss_->run(args_.context, {.prediction = batch.prediction,
                                  .label = batch.label,
                                  .weight = batch.weight,
                                  .loss = loss_value_.data(),
                                  .gradient = batch.gradient,
                                  .scratch = plan.scratch_.data()});
}

void Scores::judge() {
  if (std::exchange(judged_, true)) return;
  for (size_t i = 0; i < accumulators_.size(); ++i) {
    last_->metrics_[i]->run(args_.context, {.prediction = batch_.prediction,
                                            .label = batch_.label,
                                            .weight = batch_.weight,
                                            .partial = last_->partials_[i].data(),
                                            .scratch = last_->scratch_.data()});
  }
}

Scores::BatchLoss Scores::read_loss() {
  double wide[2] = {};
  float narrow[2] = {};
  const bool is_double = args_.prediction.dtype == DType::f64;
  args_.context.copy(is_double ? static_cast<void*>(wide) : narrow, loss_value_.data(),
                     is_double ? sizeof wide : sizeof narrow);
  args_.context.synchronize();
  if (is_double) return {wide[0], wide[1]};
  return {static_cast<double>(narrow[0]), static_cast<double>(narrow[1])};
}

double Scores::batch_loss() { return read_loss().mean; }

void Scores::add() {
  judge();
  for (size_t i = 0; i < accumulators_.size(); ++i) {
    host_partials_[i].resize(last_->partials_[i].bytes());
    args_.context.copy(host_partials_[i].data(), last_->partials_[i].data(), host_partials_[i].size());
  }
  const BatchLoss batch = read_loss();
  // The mean over rows of no weight says nothing.
  if (batch.weight > 0) {
    weighted_loss_ += batch.weight * batch.mean;
    weight_ += batch.weight;
  }
  ++batches_;
  for (size_t i = 0; i < accumulators_.size(); ++i) accumulators_[i]->add(host_partials_[i], last_->rows_);
}

double Scores::loss() const {
  return weight_ > 0 ? weighted_loss_ / weight_ : std::numeric_limits<double>::quiet_NaN();
}

const std::vector<double>& Scores::metrics() {
  for (size_t i = 0; i < accumulators_.size(); ++i) values_[i] = accumulators_[i]->value();
  return values_;
}

size_t Scores::bytes() const {
  size_t total = loss_value_.bytes();
  for (const auto& accumulator : accumulators_) total += accumulator->bytes(most_rows_);
  return total;
}

void Scores::reset() {
  weighted_loss_ = weight_ = 0;
  batches_ = 0;
  for (const auto& accumulator : accumulators_) accumulator->reset();
}

}  // namespace millrace
