// The meaning of the numbers that a loss trains a model to give, or that a metric takes for predictions.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

enum class Predictions : uint8_t {
  unknown,
  numbers,         // near the label's numbers
  logits,          // of classes
  sigmoid_logits,  // the sigmoid of each is the probability of yes
  softmax_logits,  // the softmax of all of them gives the probabilities of the classes
};

constexpr bool are_logits(Predictions predictions) { return predictions >= Predictions::logits; }

// The function that turns them into probabilities, by the name that layers and activations have for it; empty: none.
constexpr std::string_view to_probabilities(Predictions predictions) {
  if (predictions == Predictions::sigmoid_logits) return "sigmoid";
  return predictions == Predictions::softmax_logits ? "softmax" : "";
}

}  // namespace millrace
