// ModelPlan: one model at one batch size: the layers' plans and an arena for activations, laid out by lifetime.
//
// Made once, then forward() and backward() allocate nothing. A plan refers to its Model's layers and memory and to its
// Context's device; one thread uses it at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "millrace/core/context.h"
#include "millrace/layers/loss.h"
#include "millrace/layers/model/model.h"

namespace millrace {

// Where backward puts the gradients of the parameters.
enum class GradientTarget : uint8_t {
  // parameter += alpha * gradient: an update without a gradient block. Only its own layer uses a parameter, so no
  // parameter is read after it has changed.
  parameters,
  block_write,  // block = alpha * gradient
  block_add,    // block += alpha * gradient: over several batches
};

struct ModelPlanArgs {
  std::span<const TensorView> inputs;  // for each of model.fields(): (B, ...) with its stride; no data
  Mode mode = Mode::train;
  GradientTarget gradient_target = GradientTarget::block_write;
  // False gives every value memory of its own: slower and larger, with the same results.
  bool share_memory = true;
};

class ModelPlan {
 public:
  // Throws ShapeError if `inputs` are not the model's fields.
  ModelPlan(Model& model, Context& context, const ModelPlanArgs& args);
  // To predict with a model that may not change: throws InternalError for mode train.
  ModelPlan(const Model& model, Context& context, const ModelPlanArgs& args);
  ~ModelPlan();
  ModelPlan(const ModelPlan&) = delete;
  ModelPlan& operator=(const ModelPlan&) = delete;

  // The last layer's output. Its place stays the same for this plan's whole life.
  TensorView output() const;
  // The place for the gradient of output(), to be written between forward() and backward(). REQUIRES: mode train.
  TensorView output_gradient() const;

  // `loss` is the plan of a loss of output(). Returns it, or a plan in its place that also does the last part of the
  // forward pass: then forward() leaves that part out, and output() is complete only after the loss has run. REQUIRES:
  // forward() was not called.
  std::unique_ptr<LossPlan> fuse(Context& context, std::unique_ptr<LossPlan> loss);

  // Reads the fields in `inputs` (order, shapes and strides as planned, else ShapeError). output() holds until the next
  // forward().
  void forward(Context& context, std::span<const ConstTensorView> inputs, const uint64_t* step);
  // Puts the gradients where the GradientTarget says. `alpha` is in the device's memory and read when the work runs;
  // for blocks null means 1. `gradient_block` is laid out like the model's parameter block, and its padding is not
  // written; for the target `parameters` it is not used. REQUIRES: mode train, a forward() with the same inputs, and an
  // alpha for the target `parameters`.
  void backward(Context& context, std::span<const ConstTensorView> inputs, const uint64_t* step, const float* alpha,
                TensorView gradient_block);

  // Whether the target is `parameters`.
  bool in_place() const;
  // Bytes of activations, gradients and scratch that this plan and its layers' plans hold, at most.
  size_t bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
