#include "millrace/trainer/predict/answers.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "millrace/core/math.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

double probability_of(float logit) {
  // exp() of a negative number cannot overflow.
  const double z = static_cast<double>(logit), e = math::exp(-std::abs(z));
  return (z < 0 ? e : 1) / (1 + e);
}

std::vector<double> probabilities_of(std::span<const float> logits, float largest) {
  std::vector<double> powers;
  double sum = 0;
  for (const float logit : logits) {
    powers.push_back(math::exp(static_cast<double>(logit) - static_cast<double>(largest)));
    sum += powers.back();
  }
  for (double& power : powers) power /= sum;
  return powers;
}

double at(const std::vector<double>& values, size_t index) { return values[values.size() == 1 ? 0 : index]; }

}  // namespace

PredictionKind prediction_kind(Predictions predictions, int64_t outputs) {
  if (outputs == 0) return PredictionKind::values;
  if (predictions == Predictions::softmax_logits) return PredictionKind::one_of_many;
  if (predictions != Predictions::sigmoid_logits) return PredictionKind::values;
  return outputs == 1 ? PredictionKind::yes_or_no : PredictionKind::each_yes_or_no;
}

Answers::Answers(AnswersArgs args)
    : args_(std::move(args)),
      kind_(prediction_kind(args_.predictions, args_.outputs)),
      least_logit_(math::log(args_.threshold / (1 - args_.threshold))) {
  FieldHistory& label = args_.label;
  if (kind_ != PredictionKind::values) return;
  label.texts.clear();  // they are of classes
  if (args_.predictions != Predictions::numbers) return;
  const auto fits = [&](const std::vector<double>& values) {
    return values.size() == 1 || std::ssize(values) == args_.outputs;
  };
  const bool changed = label.scale != std::vector<double>{1} || label.offset != std::vector<double>{0};
  undoes_ = changed && label.complete && fits(label.scale) && fits(label.offset);
  cannot_undo_ = !label.complete;
}

Answer Answers::answer(std::span<const float> outputs) const {
  Answer out;
  if (kind_ == PredictionKind::one_of_many) {
    const bool open = std::ranges::any_of(outputs, [](float value) { return std::isnan(value); });
    const auto largest = std::ranges::max_element(outputs);
    out.values = probabilities_of(outputs, *largest);
    out.classes = {open ? -1 : largest - outputs.begin()};
  } else if (kind_ != PredictionKind::values) {
    for (const float logit : outputs) {
      out.values.push_back(probability_of(logit));
      out.classes.push_back(std::isnan(logit) ? -1 : static_cast<double>(logit) > least_logit_ ? 1 : 0);
    }
  } else {
    out.values.assign(outputs.begin(), outputs.end());
  }
  for (const int64_t number : out.classes) {
    const std::string* const text = class_text(number);
    out.texts.push_back(text != nullptr ? *text : "");
  }
  for (size_t i = 0; undoes_ && i < out.values.size(); ++i) {
    // Nine digits are enough for a float32, and the prediction is not more exact.
    out.values[i] = rounded(out.values[i] * at(args_.label.scale, i) + at(args_.label.offset, i), 9);
  }
  return out;
}

}  // namespace millrace
