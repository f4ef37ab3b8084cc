// pooling.h on CUDA. It does not use cuDNN, whose pooling pads both sides alike, and needs input and output for the
// gradient, although the number of a window's value is enough.
#include "millrace/core/kernels/images/pooling.h"

#include "millrace/core/cuda/kernels.h"
#include "millrace/core/kernels/images/pooling_gather.h"
#include "millrace/core/parallel.h"

namespace millrace::cuda {

void max_pool(Context& context, const PoolingSpec& spec, const ConstTensorView& x, const TensorView& y,
              int32_t* taken) {
  dispatch_float(spec.dtype, [&]<class T>() {
    launch_for_each(context.cuda(), spec.output().shape.elements(),
                    MaxPool<T>{PoolAxis(spec.height), PoolAxis(spec.width), spec.channels, x.as<T>(), x.stride(),
                               y.as<T>(), y.stride(), taken});
  });
}

void average_pool(Context& context, const PoolingSpec& spec, const ConstTensorView& x, const TensorView& y) {
  dispatch_float(spec.dtype, [&]<class T>() {
    launch_for_each(context.cuda(), spec.output().shape.elements(),
                    AveragePool<T>{PoolAxis(spec.height), PoolAxis(spec.width), spec.channels, x.as<T>(), x.stride(),
                                   y.as<T>(), y.stride()});
  });
}

void pool_gradient(Context& context, const PoolingSpec& spec, const int32_t* taken, const ConstTensorView& dy,
                   const Destination& dx) {
  dispatch_float(spec.dtype, [&]<class T>() {
    launch_for_each(context.cuda(), spec.input().shape.elements(),
                    PoolGradient<T>{PoolAxis(spec.height), PoolAxis(spec.width), spec.channels, taken, dy.as<T>(),
                                    dy.stride(), dx.view.as<T>(), dx.view.stride(), static_cast<T>(dx.beta), dx.alpha});
  });
}

}  // namespace millrace::cuda
