// What the pooling layers have in common: options and sizes.
#pragma once

#include <optional>

#include "millrace/core/kernels/images/pooling.h"
#include "millrace/layers/images/window.h"
#include "millrace/layers/layer.h"

namespace millrace {

struct PoolOptions {
  Pixels size;
  std::optional<Pixels> stride;
  Padding padding;

  void declare(OptionReader& o) {
    o.required("size", size, "size of the windows");
    o.stands_alone("size");
    o.optional("stride", stride, "pixels from one window to the next; absent: the windows' size");
    o.optional(
        "padding", padding,
        "pixels around the image, which do not count: valid adds none, same adds as many as keep its size at stride 1");
  }

  Window window() const {
    return {.kernel = size, .stride = stride.value_or(size), .dilation = {}, .padding = padding};
  }
};

inline PoolingSpec pooling_spec(const Window& window, const TensorView& batch) {
  const Shape& shape = batch.shape();
  return {.batch = shape[0],
          .channels = shape[1],
          .height = window.over_height(shape[2]),
          .width = window.over_width(shape[3]),
          .dtype = batch.dtype()};
}

// A row of the output for this row of the input. Throws ShapeError.
inline TensorSpec pooled(const Window& window, const TensorSpec& row) {
  require_image(row);
  require_fit(window, row);
  const ConvolutionSpec::Axis height = window.over_height(row.shape[1]), width = window.over_width(row.shape[2]);
  if (height.before >= height.kernel || width.before >= width.kernel) {
    throw ShapeError("a window would lie only in the padding", {}, "pad by less than the size of the windows");
  }
  return {Shape{row.shape[0], height.out(), width.out()}, row.dtype};
}

}  // namespace millrace
