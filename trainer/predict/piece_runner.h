// PieceRunner: runs a PredictPlan without a loss on pieces of batches (PipelineOptions::pieces). Every piece goes
// through the model in a batch of full size, after the pieces before it, so outputs do not depend on how batches come
// in pieces. Bad rows (kRowError) do not go through the model; a row that the model refuses becomes one if bad rows
// stay.
//
//   PieceRunner runner({.plan = plan, .executor = executor, .batch = pipeline.make_slot()});
//   while (pipeline.next(piece) > 0) runner.run(piece, pipeline.begins_batch());
//
// One thread uses it; the plan and the executor must outlive it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "millrace/core/context.h"
#include "millrace/input/rows/row_block.h"
#include "millrace/trainer/predict/predict_plan.h"

namespace millrace {

// Why the row is bad; empty if it is good. Valid until the rows change.
std::string_view row_error(const RowBlock& rows, int64_t row);

struct PieceRunnerArgs {
  PredictPlan& plan;
  Executor& executor;
  RowBlock batch;  // as Pipeline::make_slot() makes it: its capacity is the size of a batch
};

class PieceRunner {
 public:
  explicit PieceRunner(PieceRunnerArgs args) : args_(std::move(args)) {}

  // `begins`: the piece is the first of its batch. Throws RowError, with the row of `piece`, for a row that the model
  // refuses if bad rows do not stay. REQUIRES: the pieces of a batch have at most as many rows as a batch.
  void run(RowBlock& piece, bool begins);
  // The outputs of a good row of the last piece. Valid until the next run().
  std::span<const float> output(int64_t row);

 private:
  const RowBlock& batch_of(const RowBlock& piece, int64_t good);
  void copy(const RowBlock& piece, int64_t row, int64_t to);

  PieceRunnerArgs args_;
  int64_t first_ = 0;  // where the last piece is in its batch
  int64_t end_ = 0;    // where it ends
};

}  // namespace millrace
