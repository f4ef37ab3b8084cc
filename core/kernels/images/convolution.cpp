#include "millrace/core/kernels/images/convolution.h"

#include <algorithm>

#include "millrace/core/cuda/kernels.h"
#include "millrace/core/errors.h"
#include "millrace/core/kernels/images/convolution_cpu.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

void check_axis(std::string_view name, const ConvolutionSpec::Axis& axis) {
  if (axis.in < 1 || axis.kernel < 1 || axis.stride < 1 || axis.dilation < 1) {
    throw ShapeError(cat("a convolution needs sizes of at least 1, got a ", name, " of ", axis.in, ", a kernel of ",
                         axis.kernel, ", a stride of ", axis.stride, " and a dilation of ", axis.dilation));
  }
  if (axis.before < 0 || axis.after < 0) {
    throw ShapeError(cat("a convolution cannot be padded by less than 0, got ", std::min(axis.before, axis.after)));
  }
  // The kernel may be so large that its reach cannot be counted.
  const auto reach = static_cast<double>(axis.kernel - 1) * static_cast<double>(axis.dilation) + 1;
  const auto padded = static_cast<double>(axis.in) + static_cast<double>(axis.before) + static_cast<double>(axis.after);
  if (reach > padded) {
    throw ShapeError(cat("the kernel reaches over ", reach, " pixels, but the ", name, " is ", padded,
                         axis.before + axis.after > 0 ? " with its padding" : ""));
  }
}

void check(const ConvolutionSpec& spec) {
  if (spec.batch < 1 || spec.in_channels < 1 || spec.out_channels < 1 || spec.groups < 1) {
    throw ShapeError(cat("a convolution needs sizes of at least 1, got a batch of ", spec.batch, ", ", spec.in_channels,
                         " and ", spec.out_channels, " channels and ", count_of(spec.groups, "group")));
  }
  if (spec.in_channels % spec.groups != 0 || spec.out_channels % spec.groups != 0) {
    throw ShapeError(cat(count_of(spec.groups, "group"), " cannot share ", spec.in_channels, " and ", spec.out_channels,
                         " channels equally"));
  }
  if (spec.dtype != DType::f32 && spec.dtype != DType::f64) {
    throw ShapeError(cat("a convolution needs float32 or float64, got ", to_string(spec.dtype)));
  }
  check_axis("height", spec.height);
  check_axis("width", spec.width);
  // Throw where there are more values than can be counted.
  static_cast<void>(spec.input()), static_cast<void>(spec.output()), static_cast<void>(spec.weight());
}

}  // namespace

std::unique_ptr<Convolution> make_convolution(Context& context, const ConvolutionSpec& spec,
                                              const ConvolutionOptions& options) {
  check(spec);
  if (!context.device().is_cpu()) return cuda::make_convolution(context, spec, options);
  if (spec.dtype == DType::f64) return cpu::make_loop_convolution(spec, options);
  return cpu::make_onednn_convolution(context, spec, options);
}

}  // namespace millrace
