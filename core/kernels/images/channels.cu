// channels.h on CUDA.
#include "millrace/core/kernels/images/channels.h"

#include "millrace/core/cuda/kernels.h"
#include "millrace/core/export.h"
#include "millrace/core/kernels/image_sums.h"
#include "millrace/core/parallel.h"

namespace millrace::cuda {

namespace {

template <class T>
struct StoreSums {
  ChannelTotals totals;
  T* to;
  T beta;
  const float* alpha;
  MILLRACE_HD void operator()(int64_t channel) const {
    const T sum = static_cast<T>(totals.of(channel).first);
    const T scaled = alpha != nullptr ? static_cast<T>(*alpha) * sum : sum;
    to[channel] = beta == T(0) ? scaled : beta * to[channel] + scaled;
  }
};

ChannelPlaces places_of(const ChannelSpec& spec) { return {spec.batch, spec.channels, spec.pixels}; }

}  // namespace

void channel_sum(Context& context, const ChannelSpec& spec, const void* images, const Destination& sums,
                 void* scratch) {
  const Launcher launch{context.cuda()};
  dispatch_float(spec.dtype, [&]<class T>() {
    const ChannelTotals totals = sum_channels(PartSums<T>{.places = places_of(spec),
                                                          .what = SumOf::values,
                                                          .x = static_cast<const T*>(images),
                                                          .x_stride = spec.channels * spec.pixels},
                                              scratch, launch);
    launch(spec.channels, StoreSums<T>{totals, sums.view.as<T>(), static_cast<T>(sums.beta), sums.alpha});
  });
}

size_t channel_sum_scratch(const ChannelSpec& spec) { return channel_sums_scratch(places_of(spec)); }

}  // namespace millrace::cuda
