#include "millrace/trainer/step/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace millrace {

namespace {

// Room for the loss's two values in any type.
constexpr size_t kLossBytes = 2 * sizeof(double);

// The bytes of a partial in a copy, rounded up so that numbers of every type are aligned.
size_t place_bytes(const Memory& partial) { return (partial.bytes() + 15) / 16 * 16; }

}  // namespace

Scores::Scores(const ScoresArgs& args) : args_(args), loss_value_(args.context.device(), kLossBytes) {
  if (args_.metrics == nullptr) return;
  for (const NamedMetric& metric : *args_.metrics) {
    attributed(*metric.metric, [&] {
      metric.metric->check(args_.prediction, args_.label);
      accumulators_.push_back(not_null(metric.metric->accumulator(), "accumulator()"));
    });
    values_.emplace_back(metric.name, 0.0);
  }
}

// Calls body(i, metric), which uses the metric's plan or accumulator.
template <class Body>
void Scores::for_each_metric(const Body& body) const {
  for (size_t i = 0; i < accumulators_.size(); ++i) {
    const Metric& metric = *(*args_.metrics)[i].metric;
    attributed(metric, [&] { body(i, metric); });
  }
}

std::unique_ptr<ScorePlan> Scores::plan(const TensorView& prediction, const TensorView& label, ModelPlan* model) {
  auto plan = std::make_unique<ScorePlan>();
  plan->rows_ = prediction.rows();
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  const bool counted = args_.batches > 0 && plan->rows_ <= kAny / args_.batches;
  most_rows_ = std::max(most_rows_, counted ? args_.batches * plan->rows_ : kAny);
  const LossPlanArgs shapes = {.prediction = prediction, .label = label, .weighted = args_.weighted};
  size_t scratch = 0;
  attributed(args_.loss, [&] {
    plan->loss_ = not_null(args_.loss.plan(args_.context, shapes), "plan()");
    if (model != nullptr) plan->loss_ = model->fuse(args_.context, std::move(plan->loss_));
    scratch = plan->loss_->scratch_bytes();
    plan->bytes_ = plan->loss_->bytes();
  });
  for_each_metric([&](size_t i, const Metric& of) {
    plan->metrics_.push_back(not_null(of.plan(args_.context, shapes), "plan()"));
    const MetricPlan& metric = *plan->metrics_.back();
    plan->partials_.emplace_back(args_.context.device(), metric.partial_bytes());
    accumulators_[i]->reserve(most_rows_);
    scratch = std::max(scratch, metric.scratch_bytes());
    plan->bytes_ += metric.partial_bytes() + metric.bytes();
  });
  plan->scratch_ = Memory(args_.context.device(), scratch);
  plan->copy_ = make_copy(*plan);
  plan->bytes_ += scratch + plan->copy_.bytes();
  return plan;
}

Memory Scores::make_copy(const ScorePlan& plan) const {
  size_t bytes = kLossBytes;
  for (const Memory& partial : plan.partials_) bytes += place_bytes(partial);
  return Memory::pinned(args_.context.device(), bytes);
}

void Scores::run(ScorePlan& plan, const ScoredBatch& batch) {
  attributed(args_.loss, [&] {
    plan.loss_->run(args_.context, {.prediction = batch.prediction,
                                    .label = batch.label,
                                    .weight = batch.weight,
                                    .loss = args_.direct ? batch.loss : loss_value_.data(),
                                    .gradient = batch.gradient,
                                    .scratch = plan.scratch_.data()});
  });
}

void Scores::judge(ScorePlan& plan, const ScoredBatch& batch) {
  for_each_metric([&](size_t i, const Metric&) {
    plan.metrics_[i]->run(args_.context, {.prediction = batch.prediction,
                                          .label = batch.label,
                                          .weight = batch.weight,
                                          .partial = plan.partials_[i].data(),
                                          .scratch = plan.scratch_.data()});
  });
}

void Scores::fetch(Context& context, const ScorePlan& plan, bool metrics, const Memory& copy) const {
  auto* place = static_cast<std::byte*>(copy.data());
  if (!args_.direct) context.copy_async(place, loss_value_.data(), kLossBytes);
  place += kLossBytes;
  for (size_t i = 0; metrics && i < plan.partials_.size(); ++i) {
    const Memory& partial = plan.partials_[i];
    context.copy_async(place, partial.data(), partial.bytes());
    place += place_bytes(partial);
  }
}

Scores::BatchLoss Scores::loss_of(const Memory& copy) const {
  BatchLoss out;
  dispatch_float(args_.prediction.dtype, [&]<class T>() {
    const T* const loss = static_cast<const T*>(copy.data());
    out = {static_cast<double>(loss[0]), static_cast<double>(loss[1])};
  });
  // A mean over no rows is no number.
  if (out.weight == 0) out.mean = std::numeric_limits<double>::quiet_NaN();
  return out;
}

bool Scores::BatchLoss::fine() const { return weight == 0 || std::isfinite(mean); }

void Scores::join(const ScorePlan& plan, const Memory& copy) {
  const BatchLoss batch = loss_of(copy);
  if (batch.weight > 0) {
    weighted_loss_ += batch.weight * batch.mean;
    weight_ += batch.weight;
  }
  const auto* place = static_cast<const std::byte*>(copy.data()) + kLossBytes;
  for_each_metric([&](size_t i, const Metric&) {
    const Memory& partial = plan.partials_[i];
    accumulators_[i]->add({place, partial.bytes()}, plan.rows_);
    place += place_bytes(partial);
  });
}

void Scores::add(ScorePlan& plan, const ScoredBatch& batch) {
  judge(plan, batch);
  fetch(args_.context, plan, true, plan.copy_);
  args_.context.synchronize();
  join(plan, plan.copy_);
}

double Scores::loss() const {
  return weight_ > 0 ? weighted_loss_ / weight_ : std::numeric_limits<double>::quiet_NaN();
}

const MetricValues& Scores::metrics() {
  for_each_metric([&](size_t i, const Metric&) { values_[i].second = accumulators_[i]->value(); });
  return values_;
}

size_t Scores::bytes() const {
  size_t total = loss_value_.bytes();
  for_each_metric([&](size_t i, const Metric&) { total += accumulators_[i]->bytes(most_rows_); });
  return total;
}

void Scores::reset() {
  weighted_loss_ = weight_ = 0;
  for_each_metric([&](size_t i, const Metric&) { accumulators_[i]->reset(); });
}

void Scores::save(State& state) const {
  state.set_real("loss", weighted_loss_);
  state.set_real("weight", weight_);
  State& metrics = state.scope("metrics");
  for_each_metric([&](size_t i, const Metric&) { accumulators_[i]->save(metrics.scope(values_[i].first)); });
}

void Scores::restore(const State& state) {
  weighted_loss_ = state.real("loss");
  weight_ = state.real("weight");
  const State& metrics = state.scope("metrics");
  for_each_metric([&](size_t i, const Metric&) { accumulators_[i]->restore(metrics.scope(values_[i].first)); });
}

}  // namespace millrace
