// Fusions: neighbours get one plan together, for layers so small that starting kernels takes longer than running them.
// Layers and losses do not know about it: a fusion knows the kinds that it joins, and the planner asks it only in mode
// train, on CUDA and for float32.
//
// The fusion of heads: a dense layer with one output, y = activation(x w + b), takes one pass over x for all of its
// gradients. If it is the model's last layer, it also applies the rectifier of a dense layer before it while it reads
// x. If it has no activation itself, a loss may compute it in its own kernel (layers/head.h). So a dense layer with
// relu, a dense layer with one unit and a loss take four kernels: the product; rectifier, head and loss; their
// gradients; the gradients of the product.
//
// Functions without state. One thread uses the plans that they make.
#pragma once

#include <memory>
#include <span>

#include "millrace/core/context.h"
#include "millrace/layers/layer.h"
#include "millrace/layers/loss.h"

namespace millrace {

// Whether `last`, the model's last layer, has a plan together with the layer before it. REQUIRES: it reads only that
// layer, and no other layer reads that one.
bool fuses_with_head(const Layer& before, const Layer& last);

// The plan of one layer, or of two for which fuses_with_head() is true: from the inputs of the first to the output of
// the last, with the parameters of the first, then of the last. Null: the layer has only its own plan.
std::unique_ptr<LayerPlan> plan_head(Context& context, std::span<const Layer* const> layers, const PlanArgs& args);

// A plan that does what `last`, the plan of the model's last layer, does in forward() with `args`, and then what `loss`
// does; from now on `last` leaves its part out. If there is no such plan, returns `loss`. REQUIRES: nothing has run
// yet.
std::unique_ptr<LossPlan> fuse_loss(Context& context, LayerPlan& last, const ForwardArgs& args,
                                    std::unique_ptr<LossPlan> loss);

}  // namespace millrace
