// Predictions as lines of CSV or JSON. Pure: the same predictions give the same bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "millrace/input/transform.h"
#include "millrace/layers/loss.h"

namespace millrace::cli {

// What is said about a row. The loss that the model was trained with decides it.
enum class PredictionKind : uint8_t {
  values,      // the model's outputs
  yes_or_no,   // for one logit: whether it is positive, and the probability that it is
  one_of_many  // for several logits: which is the largest (the first of equal ones), and the probability of each
};
PredictionKind prediction_kind(Predictions predictions, int64_t outputs, bool raw);

struct PredictionTextArgs {
  std::string format = "csv";  // or "jsonl"
  PredictionKind kind = PredictionKind::values;
  int64_t outputs = 1;  // values of a row
  // Gives the classes their texts, or tells how to undo what was done to the label.
  FieldHistory label = {};
};

class PredictionText {
 public:
  explicit PredictionText(PredictionTextArgs args);

  // The lines before the first row.
  std::string head() const;
  // Appends the line of a row. In CSV a class that a NaN leaves open is empty, and so is the name of a class without
  // one; in JSON the class is null, and the name is left out.
  void append(std::string& out, std::string_view place, std::span<const float> output) const;

 private:
  struct Prediction;
  Prediction prediction_of(std::span<const float> output) const;
  void append_csv(std::string& out, std::string_view place, const Prediction& prediction) const;
  void append_json(std::string& out, std::string_view place, const Prediction& prediction) const;

  PredictionTextArgs args_;
  bool classes_, names_, undoes_;
};

}  // namespace millrace::cli
