#include "millrace/layers/images/window.h"

#include <algorithm>
#include <numeric>

#include "millrace/core/errors.h"
#include "millrace/core/sizes.h"
#include "millrace/core/text.h"
#include "millrace/layers/images/images.h"

namespace millrace {

namespace {

// So few that products of sizes fit into 64 bits.
constexpr int64_t kMost = 1 << 20;

int64_t read_size(const Spec& spec, int64_t least) {
  const int64_t size = OptionType<int64_t>::read(spec);
  if (size < least || size > kMost) {
    throw spec.error(cat("expected a whole number from ", least, " to ", kMost, ", got ", size));
  }
  return size;
}

Pixels read_pixels(const Spec& spec, int64_t least) {
  if (!spec.is_list()) {
    const int64_t size = read_size(spec, least);
    return {size, size};
  }
  const auto& sizes = spec.items();
  if (sizes.size() != 2) {
    throw spec.error(cat("expected one number, or [height, width], got a list of ", sizes.size()));
  }
  return {read_size(sizes[0], least), read_size(sizes[1], least)};
}

std::vector<OptionForm> pixel_forms(int64_t least) {
  const OptionForm size = {.is = OptionForm::Is::integer,
                           .range = {.min = static_cast<double>(least), .max = static_cast<double>(kMost)}};
  return {size, {.is = OptionForm::Is::list, .items = {size}}};
}

ConvolutionSpec::Axis axis_of(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, const Padding& padding,
                              int64_t pixels) {
  ConvolutionSpec::Axis axis{.in = in, .kernel = kernel, .stride = stride, .dilation = dilation};
  switch (padding.kind) {
    case Padding::Kind::valid: break;
    case Padding::Kind::same: {
      const int64_t missing = std::max<int64_t>((ceil_div(in, stride) - 1) * stride + axis.reach() - in, 0);
      axis.before = missing / 2;
      axis.after = missing - axis.before;
      break;
    }
    case Padding::Kind::pixels: axis.before = axis.after = pixels; break;
  }
  return axis;
}

void require_fit(std::string_view what, const ConvolutionSpec::Axis& axis, const TensorSpec& row) {
  const int64_t padded = axis.in + axis.before + axis.after;
  if (axis.reach() <= padded) return;
  // This seems to be an image with its channels last.
  const bool turned = row.shape[2] <= 4 && row.shape[0] > row.shape[2];
  throw ShapeError(cat("the window is ", count_of(axis.reach(), "pixel"), ' ', what,
                       axis.dilation > 1 ? cat(" (", axis.kernel, " with dilation ", axis.dilation, ")") : "",
                       ", the image ", padded, axis.before > 0 ? " with its padding" : ""),
                   {},
                   turned ? cat("images are (channels, height, width), and this one is ", row.shape.text())
                          : "use a smaller window, or padding: same");
}

std::string image_hint(const Shape& row) {
  switch (row.rank()) {
    case 1: return "put a reshape before it, such as `reshape: [1, 28, 28]`, or put it before the flatten";
    case 2: return cat("an image has channels, one if it is grey: `reshape: [1, ", row[0], ", ", row[1], "]`");
    case 4: return "the shape is the shape of one row, without the batch";
    default: return "";
  }
}

}  // namespace

Pixels OptionType<Pixels>::read(const Spec& spec) { return read_pixels(spec, 1); }

Spec OptionType<Pixels>::write(const Pixels& value) {
  if (value.height == value.width) return OptionType<int64_t>::write(value.height);
  return OptionType<std::vector<int64_t>>::write({value.height, value.width});
}

std::string OptionType<Pixels>::type() { return "integer or [height, width]"; }

std::vector<OptionForm> OptionType<Pixels>::forms() { return pixel_forms(1); }

Padding OptionType<Padding>::read(const Spec& spec) {
  if (spec.is_scalar() && spec.as_string() == "valid") return {};
  if (spec.is_scalar() && spec.as_string() == "same") return {.kind = Padding::Kind::same};
  if (spec.is_scalar() && spec.as_string().find_first_of("0123456789") == std::string::npos) {
    throw spec.error(cat("expected valid, same, or a number of pixels, got ", spec.describe()),
                     spec.as_string() == "SAME" || spec.as_string() == "Same" ? "did you mean same?" : "");
  }
  return {.kind = Padding::Kind::pixels, .pixels = read_pixels(spec, 0)};
}

Spec OptionType<Padding>::write(const Padding& value) {
  switch (value.kind) {
    case Padding::Kind::valid: return Spec::scalar("valid", false, {});
    case Padding::Kind::same: return Spec::scalar("same", false, {});
    case Padding::Kind::pixels: break;
  }
  return OptionType<Pixels>::write(value.pixels);
}

std::string OptionType<Padding>::type() { return "valid|same|integer or [height, width]"; }

std::vector<OptionForm> OptionType<Padding>::forms() {
  std::vector<OptionForm> out = name_forms({"valid", "same"});
  for (OptionForm& form : pixel_forms(0)) out.push_back(std::move(form));
  return out;
}

ConvolutionSpec::Axis Window::over_height(int64_t in) const {
  return axis_of(in, kernel.height, stride.height, dilation.height, padding, padding.pixels.height);
}

ConvolutionSpec::Axis Window::over_width(int64_t in) const {
  return axis_of(in, kernel.width, stride.width, dilation.width, padding, padding.pixels.width);
}

void require_image(const TensorSpec& row) {
  if (is_image(row.shape) && row.shape.elements() > 0) return;
  throw ShapeError(cat("expected one image per row, (channels, height, width), got ", row.text()), {},
                   image_hint(row.shape));
}

void require_channels(const TensorSpec& row) {
  if ((row.shape.rank() == 1 || is_image(row.shape)) && row.shape.elements() > 0) return;
  throw ShapeError(cat("expected one vector per row, or an image (channels, height, width), got ", row.text()));
}

void require_groups(int64_t groups, int64_t channels, int64_t filters) {
  const int64_t most = std::gcd(channels, filters);
  if (most % groups == 0) return;
  throw ShapeError(cat(count_of(groups, "group"), " cannot share ", count_of(channels, "channel"), " and ",
                       count_of(filters, "filter"), " equally"),
                   {}, most == 1 ? "use groups: 1, or other filters" : cat("use a divisor of ", most, " as groups"));
}

void require_fit(const Window& window, const TensorSpec& row) {
  require_fit("high", window.over_height(row.shape[1]), row);
  require_fit("wide", window.over_width(row.shape[2]), row);
}

}  // namespace millrace
