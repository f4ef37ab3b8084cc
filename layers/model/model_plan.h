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
  // Gradients go straight into the parameters: parameter += alpha * gradient, with no gradient block. Each parameter
  // has one user, its layer, so none is read after it changes.
  bool update_in_place = false;
  // False gives every value memory of its own: slower and larger, with the same results.
  bool share_memory = true;
};

class ModelPlan {
 public:
  // Throws ShapeError when `inputs` are not the model's fields.
  ModelPlan(Model& model, Context& context, const ModelPlanArgs& args);
  ~ModelPlan();
  ModelPlan(const ModelPlan&) = delete;
  ModelPlan& operator=(const ModelPlan&) = delete;

  // The last layer's output: its place for this plan's whole life.
  TensorView output() const;
  // The place for the gradient of output(), to be written between forward() and backward(). REQUIRES mode train.
  TensorView output_gradient() const;

  // Reads the fields in `inputs` (order, shapes and strides as planned, else ShapeError). output() holds until the next
  // call.
  void forward(Context& context, std::span<const ConstTensorView> inputs, const uint64_t* step);
  // In place: adds alpha * gradient to the parameters; `alpha` is in the device's memory and read when the work runs.
  // Else writes the gradients into `gradient_block`, laid out like the model's parameter block; its padding is left
  // alone. REQUIRES mode train and a forward() with the same inputs.
  void backward(Context& context, std::span<const ConstTensorView> inputs, const uint64_t* step, const float* alpha,
                TensorView gradient_block);

  bool in_place() const;
  // Bytes of activations, gradients and scratch that this plan and its layers' hold, at most.
  size_t bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
