// The plan of the layers that normalise parts of a row: each part gets mean 0 and deviation 1, then a trained scale and
// shift for each channel.
#pragma once

#include <cstdint>
#include <memory>

#include "millrace/layers/layer.h"

namespace millrace {

// A row holds `items` items, one after the other, each of `channels` channels with `pixels` values. A part is
// channels / groups neighbouring channels of an item.
struct GroupNormShape {
  int64_t items = 1, channels = 0, pixels = 1, groups = 1;
  bool channels_last = true;  // the values of a pixel are neighbours, not those of a channel
  double epsilon = 1e-5;
};

std::unique_ptr<LayerPlan> plan_group_norm(const PlanArgs& args, const GroupNormShape& shape);

}  // namespace millrace
