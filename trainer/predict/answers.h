// Answers: turns the outputs of a trained model for a row into an answer in the terms of the training's label. Network
// and `trainer predict` share these rules. Constant after construction; any thread may use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "millrace/input/transform.h"
#include "millrace/layers/loss.h"
#include "millrace/trainer/predict/network.h"

namespace millrace {

// The form of an answer. The loss that the model was trained with decides it.
enum class PredictionKind : uint8_t {
  values,          // the model's outputs
  yes_or_no,       // for one logit: whether its probability is above the threshold, and the probability
  each_yes_or_no,  // the same for each of several logits
  one_of_many      // for several logits: which is the largest (the first of equal ones), and the probability of each
};
PredictionKind prediction_kind(Predictions predictions, int64_t outputs);

struct AnswersArgs {
  // The meaning that the loss gives to the outputs. If it is unknown, they stay as they are.
  Predictions predictions = Predictions::unknown;
  int64_t outputs = 1;     // for a row
  double threshold = 0.5;  // for yes or no
  // Gives the classes their texts, or tells how to undo what was done to the label.
  FieldHistory label = {};
};

class Answers {
 public:
  explicit Answers(AnswersArgs args);

  PredictionKind kind() const { return kind_; }
  int64_t outputs() const { return args_.outputs; }
  // How many classes an answer has.
  int64_t choices() const {
    if (kind_ == PredictionKind::each_yes_or_no) return args_.outputs;
    return kind_ == PredictionKind::values ? 0 : 1;
  }
  // The texts of the classes, by their numbers. Empty: the label is numbers.
  const std::vector<std::string>& classes() const { return args_.label.texts; }
  // The text of a class; null if it has none.
  const std::string* class_text(int64_t number) const {
    const bool has_text = number >= 0 && number < std::ssize(classes());
    return has_text ? &classes()[static_cast<size_t>(number)] : nullptr;
  }
  // How the label was changed.
  const FieldHistory& label() const { return args_.label; }
  // Whether answers give amounts as the label was before ops changed it.
  bool undoes() const { return undoes_; }
  // Whether the outputs are amounts, but the change of the label cannot be undone.
  bool cannot_undo() const { return cannot_undo_; }

  // REQUIRES: outputs() values.
  Answer answer(std::span<const float> outputs) const;
  // Writes the same without the texts. REQUIRES: room for choices() classes and outputs() values.
  void answer(std::span<const float> outputs, std::span<int64_t> classes, std::span<double> values) const;

 private:
  AnswersArgs args_;
  PredictionKind kind_;
  double least_logit_;  // a logit above it means yes
  bool undoes_ = false, cannot_undo_ = false;
};

}  // namespace millrace
