// Evaluator: a model over a whole data set, in mode predict: its outputs, and where there is a loss, loss and metrics
// over all rows, joined in double in the order of the batches. They depend on how the rows are cut into batches by
// rounding at most; metrics that count do not at all.
//
//   Evaluator evaluator({.model = model, .context = context, .rows = rows, .loss = loss.get(), .label = "label"});
//   while (const RowBlock* batch = next()) evaluator.add(*batch);
//   report(evaluator.loss(), evaluator.metrics());
//
// The model is only read. At most kMaxPlans sizes of batch are planned at once: the full one and that of the last
// batch. One thread uses an Evaluator; what its arguments refer to must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/input/rows/row_block.h"
#include "millrace/layers/loss.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/step/named_metric.h"
#include "millrace/trainer/step/scores.h"

namespace millrace {

struct EvaluatorArgs {
  const Model& model;
  Context& context;
  const RowSpec& rows;         // of the batches
  const Loss* loss = nullptr;  // null: outputs alone, and neither label nor weight is read
  std::string label = {};
  std::string weight = {};  // empty: every row counts the same
  const std::vector<NamedMetric>* metrics = nullptr;
};

class Evaluator {
 public:
  static constexpr size_t kMaxPlans = 2;

  // Throws ConfigError when the rows lack a field, or have it in another shape than the model reads, and when the loss
  // or a metric does not fit, naming both sides.
  explicit Evaluator(const EvaluatorArgs& args);
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // Runs the model on the batch. Throws DataError for a value that makes no sense (layers/wanted.h), with nothing
  // counted; its row is error_row().
  void add(const RowBlock& batch);
  int64_t error_row() const;
  // The model's output for the batch of the last add(), on the device, until the next one. Throws InternalError when
  // there was none.
  ConstTensorView output() const;

  // Over every batch since reset(). The loss is NaN where no row counted.
  uint64_t rows() const;
  double loss() const;
  MetricValues metrics() const;
  void reset();

  // Makes what a batch of `rows` rows needs, ahead of time.
  void prepare(int64_t rows);
  // Held now, on the device and beside it.
  size_t bytes() const;
  // Held at most for batches of `rows` rows and a smaller last one, as bytes(). Plans the full size.
  size_t memory_bound(int64_t rows);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
