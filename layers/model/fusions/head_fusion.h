// Fusions: one plan in place of those of neighbours, where starting kernels takes longer than they do. Layers and
// losses know nothing of it: a fusion knows the kinds that it joins, and the planner asks it in mode train, on CUDA and
// for float32 alone.
//
// The fusion of heads: a dense layer with one output, y = activation(x w + b), takes one pass over x for all of its
// gradients. As the model's last layer it also takes the rectifier of a dense layer before it, as it reads x. Where it
// has no activation itself, a loss may compute it on its way (layers/head.h). So dense with relu,
// dense with one unit and loss are four kernels: product; rectifier, head and loss; their gradients; those of the
// product.
//
// Functions without state; what they make is used by one thread.
#pragma once

#include <memory>
#include <span>

#include "millrace/core/context.h"
#include "millrace/layers/layer.h"
#include "millrace/layers/loss.h"

namespace millrace {

// Whether the model's last layer has a plan together with the one before it, which it alone reads and reads alone.
bool fuses_with_head(const Layer& before, const Layer& last);

// The plan of one layer, or of two of which fuses_with_head() holds: from the inputs of the first to the output of the
// last, with the parameters of both in turn. Null: the layer has none but its own.
std::unique_ptr<LayerPlan> plan_head(Context& context, std::span<const Layer* const> layers, const PlanArgs& args);

// A plan that does what `last`, the plan of the model's last layer, does in forward() with `args` and then what `loss`
// does; from now on `last` leaves that out. Without such a plan it is `loss`. REQUIRES: nothing has run yet.
std::unique_ptr<LossPlan> fuse_loss(Context& context, LayerPlan& last, const ForwardArgs& args,
                                    std::unique_ptr<LossPlan> loss);

}  // namespace millrace
