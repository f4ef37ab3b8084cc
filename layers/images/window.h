// Windows that slide over images: their options, and the sizes that follow from them.
#pragma once

#include <cstdint>

#include "millrace/core/kernels/images/convolution.h"
#include "millrace/core/options.h"
#include "millrace/core/tensor.h"

namespace millrace {

// A configuration has one number for both, or [height, width].
struct Pixels {
  int64_t height = 1, width = 1;
  bool operator==(const Pixels&) const = default;
};

// Pixels around an image. valid: none, so that windows stay inside the image. same: as many as make the output
// ceil(input / stride) long; an odd pixel comes after the image. pixels: so many on every side.
struct Padding {
  enum class Kind : uint8_t { valid, same, pixels };
  Kind kind = Kind::valid;
  Pixels pixels = {0, 0};
};

MILLRACE_DECLARE_OPTION_TYPE(Pixels);
MILLRACE_DECLARE_OPTION_TYPE(Padding);

struct Window {
  Pixels kernel = {}, stride = {}, dilation = {};
  Padding padding = {};

  // How the window goes over an image of this height or width.
  ConvolutionSpec::Axis over_height(int64_t in) const;
  ConvolutionSpec::Axis over_width(int64_t in) const;
};

// Throws ShapeError unless a row is an image: (channels, height, width).
void require_image(const TensorSpec& row);
// Throws ShapeError unless a row is an image, or a vector, whose values are then the channels.
void require_channels(const TensorSpec& row);

// Throws ShapeError, with a hint for the user, if no window fits into the padded image.
void require_fit(const Window& window, const TensorSpec& row);

// Throws ShapeError unless the groups can share both the channels and the filters.
void require_groups(int64_t groups, int64_t channels, int64_t filters);

}  // namespace millrace
