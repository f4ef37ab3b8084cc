// OutputActivation: the activation after a layer's product: which part of it the product itself does, what is kept for
// backward, and the gradient of the product. Used by one plan.
#pragma once

#include <cstddef>

#include "millrace/core/kernels/reduce.h"
#include "millrace/layers/activations/activation.h"
#include "millrace/layers/layer.h"

namespace millrace {

class OutputActivation {
 public:
  OutputActivation(Activation activation, const PlanArgs& args)
      : activation_(activation), reads_(gradient_reads(activation)), rows_(args.output), mode_(args.mode) {}

  FusedActivation fused() const { return fused_activation(activation_); }
  // Bytes that this needs at the beginning of `saved`, and of `scratch` in backward.
  size_t saved_bytes() const { return keeps_z() ? rows_.bytes() : 0; }
  size_t scratch_bytes() const {
    return reads_ == GradientReads::nothing || mode_ == Mode::predict ? 0 : aligned_bytes(rows_.bytes());
  }
  bool backward_reads_output() const { return reads_ == GradientReads::y; }

  // The place for the product.
  TensorView product(const ForwardArgs& args) const { return keeps_z() ? rows_.at(args.saved) : args.output; }
  // After the product: does what the product did not do.
  void forward(Context& context, const ForwardArgs& args) const {
    if (fused() == FusedActivation::none) forward_all(context, args);
  }
  // After a product that does no part of the activation.
  void forward_all(Context& context, const ForwardArgs& args) const {
    if (activation_ != Activation::none) activate(context, activation_, product(args), args.output);
  }
  // The gradient of the product: the output's own if there is no activation, else in `scratch`. `sums`, if they are
  // wanted, get the sums of its columns; `sum_scratch` as for column_sum() of the gradient.
  ConstTensorView product_gradient(Context& context, const BackwardArgs& args, const Destination& sums = {},
                                   void* sum_scratch = nullptr) const {
    if (reads_ == GradientReads::nothing) {
      if (sums) column_sum(context, args.output_gradient, sums, sum_scratch);
      return args.output_gradient;
    }
    const TensorView dz = rows_.at(args.scratch);
    const ConstTensorView value = reads_ == GradientReads::z ? rows_.at(args.saved) : args.output;
    activation_gradient(context, activation_, value, args.output_gradient, {.view = dz}, sums, sum_scratch);
    return dz;
  }

 private:
  bool keeps_z() const { return reads_ == GradientReads::z && mode_ == Mode::train; }

  Activation activation_;
  GradientReads reads_;
  TensorView rows_;  // the layout of the output, its gradient and the product; no data
  Mode mode_;
};

}  // namespace millrace
