// Windows that slide over images: their options, and the sizes that follow from them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/core/kernels/convolution.h"
#include "millrace/core/options.h"
#include "millrace/core/tensor.h"

namespace millrace {

// Written as one number for both or as [height, width].
struct Pixels {
  int64_t height = 1, width = 1;
  bool operator==(const Pixels&) const = default;
};

// valid: none, so that windows stay inside the image. same: as much as makes the output ceil(input / stride), the odd
// pixel behind. Else so many pixels on every side.
struct Padding {
  enum class Kind : uint8_t { valid, same, pixels };
  Kind kind = Kind::valid;
  Pixels pixels = {0, 0};
};

#define MILLRACE_DECLARE_OPTION_TYPE(T)     \
  template <>                               \
  struct OptionType<T> {                    \
    static T read(const Spec& spec);        \
    static Spec write(const T& value);      \
    static std::string type();              \
    static std::vector<OptionForm> forms(); \
  }
MILLRACE_DECLARE_OPTION_TYPE(Pixels);
MILLRACE_DECLARE_OPTION_TYPE(Padding);
#undef MILLRACE_DECLARE_OPTION_TYPE

struct Window {
  Pixels kernel = {}, stride = {}, dilation = {};
  Padding padding = {};

  // How the window goes over an image of this height or width.
  ConvolutionSpec::Axis over_height(int64_t in) const;
  ConvolutionSpec::Axis over_width(int64_t in) const;
};

// Throws ShapeError unless a row is an image: (channels, height, width).
void require_image(const TensorSpec& row);
// Throws ShapeError unless it is one or a vector, each value a channel.
void require_channels(const TensorSpec& row);

// Throws ShapeError where no window fits into the padded image, with a hint for the user.
void require_fit(const Window& window, const TensorSpec& row);

// Which `groups` share both equally.
std::string divisor_hint(int64_t channels, int64_t filters);

}  // namespace millrace
