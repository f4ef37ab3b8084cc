// What the numbers are that a loss trains a model to give, or that a metric takes for predictions.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

enum class Predictions : uint8_t {
  unknown,
  numbers,         // near the label's
  logits,          // of classes
  sigmoid_logits,  // of which each has its sigmoid as a probability, of yes
  softmax_logits,  // of which all together have their softmax as the probabilities of classes
};

constexpr bool are_logits(Predictions predictions) { return predictions >= Predictions::logits; }

// The function that makes probabilities of them, as layers and activations call it; empty: none.
constexpr std::string_view to_probabilities(Predictions predictions) {
  if (predictions == Predictions::sigmoid_logits) return "sigmoid";
  return predictions == Predictions::softmax_logits ? "softmax" : "";
}

}  // namespace millrace
