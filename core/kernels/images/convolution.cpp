#include "millrace/core/kernels/images/convolution.h"

#include "millrace/core/cuda/kernels.h"
#include "millrace/core/kernels/images/convolution_cpu.h"

namespace millrace {

std::unique_ptr<Convolution> make_convolution(Context& context, const ConvolutionSpec& spec,
                                              const ConvolutionOptions& options) {
  if (!context.device().is_cpu()) return cuda::make_convolution(context, spec, options);
  if (spec.dtype == DType::f64) return cpu::make_loop_convolution(spec, options);
  return cpu::make_onednn_convolution(context, spec, options);
}

}  // namespace millrace
