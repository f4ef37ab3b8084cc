// The plan of the layers that normalise parts of a row: each part gets mean 0 and deviation 1, then a trained scale and
// shift for each channel.
#pragma once

#include <cstdint>
#include <memory>

#include "millrace/core/export.h"
#include "millrace/layers/layer.h"

namespace millrace {

// A row holds `items` items, one after the other, each of `channels` channels with `pixels` values. A part is
// channels / groups neighbouring channels of an item. It consists of runs of neighbouring values: the channels of each
// pixel, or the pixels of each channel.
struct GroupNormShape {
  int64_t items = 1, channels = 0, pixels = 1, groups = 1;
  bool channels_last = true;  // the values of a pixel are neighbours, not those of a channel
  double epsilon = 1e-5;

  MILLRACE_HD int64_t channel_step() const { return channels_last ? 1 : pixels; }
  MILLRACE_HD int64_t pixel_step() const { return channels_last ? channels : 1; }
  // The row that holds item `item` of the batch, and the column where the item begins.
  MILLRACE_HD int64_t row(int64_t item) const { return item / items; }
  MILLRACE_HD int64_t column(int64_t item) const { return item % items * channels * pixels; }
  // Channels of a part.
  MILLRACE_HD int64_t size() const { return channels / groups; }
};

std::unique_ptr<LayerPlan> plan_group_norm(const PlanArgs& args, const GroupNormShape& shape);

}  // namespace millrace
