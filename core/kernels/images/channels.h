// One value for each channel of a batch of images: added to all of the channel's pixels, or summed over them.
//
// Images are (batch, channels, pixels) without gaps; on the CPU channels last, on CUDA in that order. f32 and f64, else
// InternalError. Results do not depend on the number of threads; nothing is allocated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/core/context.h"
#include "millrace/core/tensor.h"

namespace millrace {

struct ChannelSpec {
  int64_t batch = 0, channels = 0, pixels = 0;
  DType dtype = DType::f32;
};

// images += values, one for each channel.
void add_to_channels(Context& context, const ChannelSpec& spec, const void* values, void* images);

// The sum of each channel's pixels. `scratch` has channel_sum_scratch() bytes.
void channel_sum(Context& context, const ChannelSpec& spec, const void* images, const Destination& sums, void* scratch);
size_t channel_sum_scratch(Device device, const ChannelSpec& spec);

}  // namespace millrace
