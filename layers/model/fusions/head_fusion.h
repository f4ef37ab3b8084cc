// Fusions: one plan in place of the plans of neighbours, if starting their kernels takes longer than running them.
// Layers and losses know nothing of it: a fusion knows the kinds that it joins. The planner asks for it only in mode
// train, on CUDA and for float32.
//
// The fusion of heads: a dense layer with one output, y = activation(x w + b), computes all of its gradients in one
// pass over x. If it is the model's last layer, it also applies the rectifier of a dense layer before it, as it reads
// x. If it has no activation, a loss may compute it first (losses/shared/head_loss_plan.h). So dense with relu, dense
// with one unit and the loss are four kernels: product; rectifier, head and loss; their gradients; the gradient of the
// product.
//
// These are functions without state; one thread uses the plans that they make.
#pragma once

#include <memory>
#include <span>

#include "millrace/core/context.h"
#include "millrace/layers/layer.h"
#include "millrace/layers/loss.h"

namespace millrace {

// Whether the model's last layer has a plan together with the layer before it. REQUIRES: `last` reads only `before`,
// and nothing else reads that.
bool fuses_with_head(const Layer& before, const Layer& last);

// The plan of one layer, or of two for which fuses_with_head() is true: from the inputs of the first layer to the
// output of the last one, with the parameters of both in turn. Null: the layer has only its own plan.
std::unique_ptr<LayerPlan> plan_head(Context& context, std::span<const Layer* const> layers, const PlanArgs& args);

// A plan that does the end of last.forward(args) and then the work of `loss`; from now on `last`, the plan of the
// model's last layer, leaves that end out. If there is no such plan, the result is `loss`. REQUIRES: nothing has run
// yet.
std::unique_ptr<LossPlan> fuse_loss(Context& context, LayerPlan& last, const ForwardArgs& args,
                                    std::unique_ptr<LossPlan> loss);

}  // namespace millrace
