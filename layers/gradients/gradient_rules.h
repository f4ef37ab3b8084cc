// GradientRules: what happens to gradients between the backward passes and the optimizer: the gradients of several
// batches are joined, values or the norm are limited, and numbers that are not finite are found.
//
//   GradientRules rules({.accumulate = 4, .clip_norm = 1.0}, device, block_spec);
//   const float* alpha = rules.begin_batch(context, loss, gradients);  // then backward() with alpha
//   rules.count_batch();
//   if (rules.complete()) {
//     optimizer.update(context, {.gradient_scale = rules.finish(context, gradients), ...});
//     rules.begin_anew();
//   }
//
// `gradients` is one block (model_plan.h), the same at every call. begin_batch() and finish() only give work to the
// context and change nothing here, so that the work may be recorded (core/replay.h); which work it is depends on the
// batches counted so far. Nothing is allocated after construction. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/core/context.h"
#include "millrace/core/state.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/gradients/gradient_options.h"
#include "millrace/layers/model/model_plan.h"

namespace millrace {

class GradientRules {
 public:
  // `block` is the spec of the model's parameter block.
  GradientRules(const GradientOptions& options, Device device, const TensorSpec& block);

  // How backward() must treat the block.
  GradientTarget target() const {
    return options_.accumulate > 1 ? GradientTarget::block_add : GradientTarget::block_write;
  }
  // Call it before the backward pass of a batch. Returns what the pass must multiply its gradients by; null is 1.
  // `loss` points to the two values of LossArgs::loss, in the dtype of `gradients`.
  const float* begin_batch(Context& context, const void* loss, const TensorView& gradients) const;
  void count_batch() { ++gathered_; }
  // Whether enough batches were counted for an update.
  bool complete() const { return gathered_ >= options_.accumulate; }
  bool next_completes() const { return gathered_ + 1 >= options_.accumulate; }
  // Batches counted since the last update.
  int64_t gathered() const { return gathered_; }
  // After the last backward pass: limits the gradients. Returns UpdateArgs::gradient_scale.
  const float* finish(Context& context, const TensorView& gradients) const;
  // Call it after an update.
  void begin_anew() { gathered_ = 0; }
  // Whether every value was finite at the last finish(), before anything limited it, and what check_squares asks for;
  // waits for the device. REQUIRES: check_finite.
  bool finite(Context& context) const;

  // Save and restore the numbers of the update whose batches are being gathered; the block of gradients belongs to it,
  // too. Both wait for the device. restore() throws DataError if the update would be complete.
  void save(Context& context, State& state) const;
  void restore(Context& context, const State& state);

  size_t bytes() const { return numbers_.bytes() + scratch_.bytes(); }

 private:
  GradientOptions options_;
  Memory numbers_;  // gradient_rules.cpp: Numbers
  Memory scratch_;
  int64_t gathered_ = 0;
};

}  // namespace millrace
