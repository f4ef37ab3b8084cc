// The step of a model's plan that changes the layout of images. It stands between two layers if only one of them takes
// images as plain rows.
#pragma once

#include <memory>

#include "millrace/layers/layer.h"

namespace millrace {

// `args` has one input and an output of the same shape, (batch, channels, height, width). One of them is laid out as
// images, the other as plain rows; `to_images`: the output as images.
std::unique_ptr<LayerPlan> plan_layout_change(Context& context, const PlanArgs& args, bool to_images);

}  // namespace millrace
