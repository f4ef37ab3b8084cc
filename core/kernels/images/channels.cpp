#include "millrace/core/kernels/images/channels.h"

#include "millrace/core/cuda/kernels.h"
#include "millrace/core/kernels/reduce.h"

namespace millrace {

namespace {

TensorSpec lines_of(const ChannelSpec& spec) { return {Shape{spec.batch * spec.pixels, spec.channels}, spec.dtype}; }

}  // namespace

void channel_sum(Context& context, const ChannelSpec& spec, const void* images, const Destination& sums,
                 void* scratch) {
  if (!context.device().is_cpu()) return cuda::channel_sum(context, spec, images, sums, scratch);
  column_sum(context, ConstTensorView(images, spec.dtype, lines_of(spec).shape), sums, scratch);
}

size_t channel_sum_scratch(Device device, const ChannelSpec& spec) {
  return device.is_cpu() ? column_sum_scratch(lines_of(spec)) : cuda::channel_sum_scratch(spec);
}

}  // namespace millrace
