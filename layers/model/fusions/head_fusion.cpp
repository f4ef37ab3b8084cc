#include "millrace/layers/model/fusions/head_fusion.h"

#include <array>
#include <cstddef>
#include <utility>

#include "millrace/layers/activations/output_activation.h"
#include "millrace/layers/dense.h"
#include "millrace/layers/gradients/one_output.h"
#include "millrace/layers/head.h"

namespace millrace {
namespace {

std::unique_ptr<LayerPlan> plan_dense(Context& context, const Dense& dense, const PlanArgs& args);

// A dense layer with one output, y = activation(x w + b), and perhaps the dense layer with a rectifier before it. The
// product of that layer is z; x = max(z, 0) replaces z when z is read for the first time. Its parameters come before
// the head's.
class HeadPlan final : public LayerPlan {
 public:
  // `before` may be null.
  HeadPlan(Context& context, const Dense* before, const Dense& head, const PlanArgs& args)
      : rectifies_(before != nullptr),
        bias_(head.options().bias),
        activated_(head.options().activation != Activation::none),
        activation_(head.options().activation, args) {
    PlanArgs product = args;
    if (before == nullptr) {
      x_ = args.inputs[0];
      // This plan computes the gradients, not the product.
      const GradientUse none = GradientUse::none;
      product.input_gradients = {&none, 1};
      product.parameter_gradients = none;
      product_ = head.plan(context, product);
      return;
    }
    DenseOptions linear = before->options();
    first_weight_ = linear.bias ? 2 : 1;
    linear.activation = Activation::none;
    const TensorSpec row{Shape{linear.units}, args.output.dtype()};
    x_ = TensorView(nullptr, row.dtype, row.shape.with_batch(args.output.rows()), aligned_bytes(row.bytes()));
    product.output = x_;
    product_ = plan_dense(context, Dense(linear), product);
  }

  size_t saved_bytes() const override { return x_at() + (rectifies_ ? x_.bytes() : 0); }
  size_t scratch_bytes() const override { return product_at() + (rectifies_ ? product_->scratch_bytes() : 0); }
  bool backward_reads_output() const override { return activation_.backward_reads_output(); }
  size_t bytes() const override { return product_->bytes(); }

  void forward(Context& context, const ForwardArgs& args) override {
    if (!rectifies_) {
      if (!leaves_head_) product_->forward(context, args);
      return;
    }
    ForwardArgs product = args;
    product.params = args.params.first(first_weight_);
    product.output = x_in(args.saved);
    product.saved = nullptr;
    product_->forward(context, product);
    if (leaves_head_) return;
    compute_head(context, head(args));
    activation_.forward_all(context, args);
  }

  void backward(Context& context, const BackwardArgs& args) override {
    auto* const scratch = static_cast<std::byte*>(args.scratch);
    const std::span<const Destination> gradients = args.parameter_gradients.subspan(first_weight_);
    const TensorView dz = x_.at(scratch + dz_at());
    one_output_gradients(context,
                         {.x = rectifies_ ? x_in(args.saved) : args.inputs[0],
                          .weight = args.params[first_weight_],
                          .dy = activation_.product_gradient(context, args),
                          .dx = rectifies_ ? Destination{.view = dz} : args.input_gradients[0],
                          .dweight = gradients[0],
                          .dbias = bias_ ? gradients[1] : Destination{},
                          .rectified = rectifies_,
                          .sums = first_weight_ > 1 ? args.parameter_gradients[1] : Destination{}},
                         scratch + activation_.scratch_bytes());
    if (!rectifies_) return;
    // The gradient of the first layer's bias was computed above, as `sums`.
    const std::array<Destination, 2> weight_alone = {args.parameter_gradients[0], Destination{}};
    BackwardArgs product = args;
    product.params = args.params.first(first_weight_);
    product.output = {};
    product.output_gradient = dz;
    product.parameter_gradients = std::span(weight_alone).first(first_weight_);
    product.saved = nullptr;
    product.scratch = scratch + product_at();
    product_->backward(context, product);
  }

  // Whether a loss may compute the head. It needs the address of x, and addresses of fields are known only in each
  // call.
  bool can_leave_head(const ForwardArgs& args) const { return !activated_ && (rectifies_ || args.inputs[0]); }
  // From now on forward() leaves out the head. REQUIRES: can_leave_head().
  Head leave_head(const ForwardArgs& args) {
    leaves_head_ = true;
    return head(args);
  }

 private:
  Head head(const ForwardArgs& args) const {
    return {.x = rectifies_ ? x_in(args.saved) : args.inputs[0],
            .rectified = rectifies_ ? x_in(args.saved) : TensorView(),
            .weight = args.params[first_weight_],
            .bias = bias_ ? args.params[first_weight_ + 1] : ConstTensorView(),
            .y = activation_.product(args)};
  }

  // `saved` holds the activation's values, then x.
  size_t x_at() const { return aligned_bytes(activation_.saved_bytes()); }
  // `scratch` holds, in this order: the activation's scratch, scratch for the sums, the gradient of z, the product's
  // scratch.
  size_t dz_at() const { return activation_.scratch_bytes() + aligned_bytes(one_output_scratch(x_.spec())); }
  size_t product_at() const { return dz_at() + (rectifies_ ? x_.bytes() : 0); }

  TensorView x_in(void* saved) const { return x_.at(static_cast<std::byte*>(saved) + x_at()); }
  ConstTensorView x_in(const void* saved) const { return x_.at(static_cast<const std::byte*>(saved) + x_at()); }

  bool rectifies_, bias_, activated_;
  bool leaves_head_ = false;  // a loss computes it
  OutputActivation activation_;
  TensorView x_;                        // the layout of x; no data
  size_t first_weight_ = 0;             // the index of the head's weight among the parameters
  std::unique_ptr<LayerPlan> product_;  // of the layer before; without one, of the head, and only for forward
};

std::unique_ptr<LayerPlan> plan_dense(Context& context, const Dense& dense, const PlanArgs& args) {
  if (dense.options().units != 1) return dense.plan(context, args);
  return std::make_unique<HeadPlan>(context, nullptr, dense, args);
}

const Dense* as_dense(const Layer& layer) { return dynamic_cast<const Dense*>(&layer); }

class HeadAndLoss final : public LossPlan {
 public:
  // REQUIRES: `loss` is a HeadLossPlan.
  HeadAndLoss(Context& context, const Head& head, std::unique_ptr<LossPlan> loss)
      : ticket_(context.device(), sizeof(unsigned)), head_(head), loss_(std::move(loss)) {
    head_.ticket = static_cast<unsigned*>(ticket_.data());
  }

  size_t scratch_bytes() const override { return loss_->scratch_bytes(); }
  size_t bytes() const override { return loss_->bytes() + ticket_.bytes(); }
  void run(Context& context, const LossArgs& args) override {
    static_cast<HeadLossPlan&>(*loss_).run_with_head(context, head_, args);
  }

 private:
  Memory ticket_;
  Head head_;
  std::unique_ptr<LossPlan> loss_;
};

}  // namespace

bool fuses_with_head(const Layer& before, const Layer& last) {
  const Dense *const first = as_dense(before), *const head = as_dense(last);
  return first != nullptr && first->options().activation == Activation::relu && head != nullptr &&
         head->options().units == 1;
}

std::unique_ptr<LayerPlan> plan_head(Context& context, std::span<const Layer* const> layers, const PlanArgs& args) {
  const Dense* const head = as_dense(*layers.back());
  if (head == nullptr || head->options().units != 1) return nullptr;
  return std::make_unique<HeadPlan>(context, layers.size() > 1 ? as_dense(*layers.front()) : nullptr, *head, args);
}

std::unique_ptr<LossPlan> fuse_loss(Context& context, LayerPlan& last, const ForwardArgs& args,
                                    std::unique_ptr<LossPlan> loss) {
  auto* const plan = dynamic_cast<HeadPlan*>(&last);
  const auto* const head_loss = dynamic_cast<const HeadLossPlan*>(loss.get());
  if (plan == nullptr || !plan->can_leave_head(args)) return loss;
  if (head_loss == nullptr || !head_loss->can_run_with_head()) return loss;
  return std::make_unique<HeadAndLoss>(context, plan->leave_head(args), std::move(loss));
}

}  // namespace millrace
