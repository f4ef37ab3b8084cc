// ModelPlan: one model at one batch size: the layers' plans and an arena for activations, laid out by lifetime.
//
// Made once, then forward() and backward() allocate nothing. A plan refers to its Model and its Context's device; one
// thread uses it at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/layers/model/model.h"

namespace millrace {

struct ModelPlanArgs {
  std::span<const TensorView> inputs;  // for each of model.fields(): (B, ...) with its stride; no data
  Mode mode = Mode::train;
  // Gradients go straight into the parameters: parameter += alpha * gradient. The planner decides layer by layer whether
  // it may; parameters used more than once never do (see fused()).
  bool update_in_place = false;
};

class ModelPlan {
 public:
  ModelPlan(Model& model, Context& context, const ModelPlanArgs& args);
  ~ModelPlan();
  ModelPlan(const ModelPlan&) = delete;
  ModelPlan& operator=(const ModelPlan&) = delete;

  // The last layer's output: its place for this plan's whole life.
  TensorView output() const;
  // The place for the gradient of output(), to be written before backward(). REQUIRES mode train.
  TensorView output_gradient() const;

  // Reads the fields in `inputs` (order and strides as planned).
  void forward(Context& context, std::span<const ConstTensorView> inputs, const uint64_t* step);
  // Adds alpha * gradient to the parameters (in place), or writes gradients into `gradient_block` (laid out like the model's
  // parameter block; not read). `alpha` is in the device's memory and read when the work runs.
  void backward(Context& context, std::span<const ConstTensorView> inputs, const uint64_t* step, const float* alpha,
                TensorView gradient_block);

  bool in_place() const;
  // Bytes that this plan holds on the device.
  size_t bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
