// batch_norm.h on CUDA.
#include "millrace/core/kernels/batch_norm.h"

#include "millrace/core/cuda/kernels.h"
#include "millrace/core/kernels/batch_norm_bodies.h"
#include "millrace/core/parallel.h"

namespace millrace::cuda {

size_t batch_norm_scratch(const BatchNormSpec& spec) { return norm_scratch(spec); }

void batch_moments(Context& context, const BatchNormSpec& spec, ConstNormRows x, void* mean, void* variance,
                   void* scratch) {
  dispatch_float(spec.dtype, [&]<class T>() {
    run_batch_moments(spec, x, static_cast<T*>(mean), static_cast<T*>(variance), scratch, Launcher{context.cuda()});
  });
}

void batch_norm(Context& context, const BatchNormSpec& spec, ConstNormRows x, const NormParams& params, NormRows y) {
  dispatch_float(spec.dtype, [&]<class T>() { run_batch_norm<T>(spec, x, params, y, Launcher{context.cuda()}); });
}

void batch_norm_gradient(Context& context, const BatchNormSpec& spec, ConstNormRows x, ConstNormRows dy,
                         const NormParams& params, const BatchNormGradients& gradients, void* scratch) {
  dispatch_float(spec.dtype, [&]<class T>() {
    run_batch_norm_gradient<T>(spec, x, dy, params, gradients, scratch, Launcher{context.cuda()});
  });
}

}  // namespace millrace::cuda
