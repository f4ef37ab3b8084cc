// Predictions as lines of CSV or JSON. Pure: the same predictions give the same bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "millrace/trainer/cli/arguments.h"

namespace millrace::cli {

// What is said of a row, by the loss that the model was trained with.
enum class PredictionKind : uint8_t {
  values,      // the model's outputs
  yes_or_no,   // of one logit: whether it is positive, and the probability of that
  one_of_many  // of several logits: the first of the largest, and the probability of each
};
PredictionKind prediction_kind(std::string_view loss, int64_t outputs, bool raw);

class PredictionText {
 public:
  // `outputs`: values of a row.
  PredictionText(PredictionFormat format, PredictionKind kind, int64_t outputs)
      : format_(format), kind_(kind), outputs_(outputs) {}

  // The lines before the first row.
  std::string head() const;
  // Appends the line of a row. A class that NaN leaves open is null, in CSV empty.
  void append(std::string& out, std::string_view place, std::span<const float> output) const;

 private:
  PredictionFormat format_;
  PredictionKind kind_;
  int64_t outputs_;
};

}  // namespace millrace::cli
