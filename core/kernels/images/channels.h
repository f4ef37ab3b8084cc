// Sums over the pixels of each channel of a batch of images.
//
// Images are (batch, channels, pixels) without gaps; on the CPU channels last, on CUDA in that order. Results do not
// depend on the number of threads; nothing is allocated.
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

// `scratch` has channel_sum_scratch() bytes. Throws ShapeError unless the images are f32 or f64.
void channel_sum(Context& context, const ChannelSpec& spec, const void* images, const Destination& sums, void* scratch);
size_t channel_sum_scratch(Device device, const ChannelSpec& spec);

}  // namespace millrace
