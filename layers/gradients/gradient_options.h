// What is done with gradients between a loss and an update, as values; gradient_rules.h does it.
#pragma once

#include <cstdint>
#include <optional>

namespace millrace {

struct GradientOptions {
  // Batches that make one update. Each counts by its rows' weights, so that the update is that of one batch of all
  // their rows.
  int64_t accumulate = 1;
  // Limits of the gradient that an update sees, first of each value, then of the Euclidean norm of all together, which
  // is scaled down to it.
  std::optional<double> clip_value = {}, clip_norm = {};
  // Whether finite() will be asked.
  bool check_finite = false;

  // Whether there is anything to do: then gradients need a block of their own.
  bool any() const { return accumulate > 1 || clip_value || clip_norm || check_finite; }
};

}  // namespace millrace
