// The step of a model's plan that lays images out anew: between layers of which one takes images as plain rows.
#pragma once

#include <memory>

#include "millrace/layers/layer.h"

namespace millrace {

// `args`: one input and an output of one shape, (batch, channels, height, width); the one lies as images, the other as
// plain rows.
std::unique_ptr<LayerPlan> plan_layout_change(Context& context, const PlanArgs& args, bool to_images);

}  // namespace millrace
