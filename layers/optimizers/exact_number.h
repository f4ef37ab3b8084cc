// ExactNumber: a number that changes from update to update and is more exact than the floats of Optimizer::scalars():
// two of them hold one, and their sum has 48 bits. So the rates and corrections of a training in float64 are not
// rounded to 24 bits. What one float holds is: the rate of plain SGD, by which backward adds gradients to parameters,
// and the scale of the gradients.
//
//   void scalars(uint64_t step, std::span<float> out) const { write_exact(rate(step), out, 0); }
//   ExactNumber<T>(args.scalars, 0)          // a member of the functor, which reads its value()
#pragma once

#include <cstddef>
#include <span>

#include "millrace/core/hd.h"

namespace millrace {

// Scalars that `numbers` of them take.
constexpr int scalars_of(int numbers) { return 2 * numbers; }

// Writes number `index` of an optimizer's. REQUIRES: |value| is no more than the greatest float.
inline void write_exact(double value, std::span<float> out, size_t index) {
  const auto high = static_cast<float>(value);
  out[2 * index] = high;
  out[2 * index + 1] = static_cast<float>(value - static_cast<double>(high));
}

template <class T>
struct ExactNumber {
  const float* halves;

  ExactNumber(const float* scalars, int index) : halves(scalars + 2 * index) {}

  // As a float: the one nearest to it.
  MILLRACE_HD T value() const { return static_cast<T>(halves[0]) + static_cast<T>(halves[1]); }
};

}  // namespace millrace
