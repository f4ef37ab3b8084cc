// RowSizes: the shape of a row as an option gives it: the sizes of its axes, one of which may be left open.
//
//   std::optional<RowSizes> reshape;
//   o.optional("reshape", reshape, "sizes of the axes; one may be -1: what the others leave");
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/options.h"
#include "millrace/core/tensor.h"

namespace millrace {

struct RowSizes {
  std::vector<int64_t> sizes;  // as read: 1 to 5 of them, each at least 1, except for at most one -1

  // The shape of a row of `values` values; none if they do not fill it. Throws ShapeError if the shape has more values
  // than can be counted. REQUIRES: sizes as read.
  std::optional<Shape> shape_of(int64_t values) const;
  // The number of values that would fit, for a message: "6 values", "a multiple of 28 values", for the noun "value".
  std::string wanted(std::string_view noun) const;
  std::string text() const;  // "(1, -1, 28)"
};

template <>
struct OptionType<RowSizes> : OptionType<std::vector<int64_t>> {
  static RowSizes read(const Spec& spec);
  static Spec write(const RowSizes& value) { return OptionType<std::vector<int64_t>>::write(value.sizes); }
};

}  // namespace millrace
