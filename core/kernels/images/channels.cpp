#include "millrace/core/kernels/images/channels.h"

#include <algorithm>

#include "millrace/core/cuda/kernels.h"
#include "millrace/core/kernels/reduce.h"
#include "millrace/core/sizes.h"
#include "millrace/core/tensor.h"

namespace millrace {

namespace {

// Values that one task handles.
constexpr int64_t kValuesATask = 16384;

TensorSpec lines_of(const ChannelSpec& spec) { return {Shape{spec.batch * spec.pixels, spec.channels}, spec.dtype}; }

template <class T>
void add_to_lines(Context& context, const ChannelSpec& spec, const T* values, T* images) {
  const int64_t lines = spec.batch * spec.pixels, at_once = std::max<int64_t>(1, kValuesATask / spec.channels);
  context.executor().parallel_for(ceil_div(lines, at_once), [=](int64_t block) {
    const int64_t end = std::min(lines, (block + 1) * at_once);
    for (int64_t line = block * at_once; line < end; ++line) {
      T* const to = images + line * spec.channels;
      for (int64_t c = 0; c < spec.channels; ++c) to[c] += values[c];
    }
  });
}

}  // namespace

void add_to_channels(Context& context, const ChannelSpec& spec, const void* values, void* images) {
  if (!context.device().is_cpu()) return cuda::add_to_channels(context, spec, values, images);
  dispatch_float(spec.dtype, [&]<class T>() {
    add_to_lines(context, spec, static_cast<const T*>(values), static_cast<T*>(images));
  });
}

void channel_sum(Context& context, const ChannelSpec& spec, const void* images, const Destination& sums,
                 void* scratch) {
  if (!context.device().is_cpu()) return cuda::channel_sum(context, spec, images, sums, scratch);
  column_sum(context, ConstTensorView(images, spec.dtype, lines_of(spec).shape), sums, scratch);
}

size_t channel_sum_scratch(Device device, const ChannelSpec& spec) {
  return device.is_cpu() ? column_sum_scratch(lines_of(spec)) : cuda::channel_sum_scratch(spec);
}

}  // namespace millrace
