// Options for what happens to gradients between a loss and an update; gradient_rules.h does it.
#pragma once

#include <cstdint>
#include <optional>

namespace millrace {

struct GradientOptions {
  // How many batches make one update. Each counts by its rows' weights, so the update is the same as for one batch with
  // all their rows.
  int64_t accumulate = 1;
  // Limits for the gradient that an update sees: first each value is limited to clip_value; then all values together
  // are scaled down so that their Euclidean norm is at most clip_norm.
  std::optional<double> clip_value = {}, clip_norm = {};
  // Whether finite() will be called.
  bool check_finite = false;
  // Whether finite() shall say no, too, if the square of a limited gradient may be beyond a float. An optimizer that
  // keeps squares would keep an infinite one for good.
  bool check_squares = false;

  // Whether there is anything to do. If so, gradients need a block of their own.
  bool any() const { return accumulate > 1 || clip_value || clip_norm || check_finite; }
};

}  // namespace millrace
