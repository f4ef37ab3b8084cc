#include "millrace/trainer/predict/answers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "millrace/core/math.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

double probability_of(float logit) {
  // exp() of a negative number cannot overflow.
  const double z = static_cast<double>(logit), e = math::exp(-std::abs(z));
  return (z < 0 ? e : 1) / (1 + e);
}

void write_probabilities(std::span<const float> logits, float largest, std::span<double> out) {
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    out[i] = math::exp(static_cast<double>(logits[i]) - static_cast<double>(largest));
    sum += out[i];
  }
  for (double& power : out) power /= sum;
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
  label.texts.clear();  // they are the texts of classes
  if (args_.predictions != Predictions::numbers) return;
  const auto fits = [&](const std::vector<double>& values) {
    return values.size() == 1 || std::ssize(values) == args_.outputs;
  };
  const bool changed = label.scale != std::vector<double>{1} || label.offset != std::vector<double>{0};
  undoes_ = changed && label.complete && fits(label.scale) && fits(label.offset);
  cannot_undo_ = (changed || !label.complete) && !undoes_;
}

Answer Answers::answer(std::span<const float> outputs) const {
  Answer out{.classes = std::vector<int64_t>(static_cast<size_t>(choices())),
             .values = std::vector<double>(outputs.size())};
  answer(outputs, out.classes, out.values);
  for (const int64_t number : out.classes) {
    const std::string* const text = class_text(number);
    out.texts.push_back(text != nullptr ? *text : "");
  }
  return out;
}

void Answers::answer(std::span<const float> outputs, std::span<int64_t> classes, std::span<double> values) const {
  if (kind_ == PredictionKind::one_of_many) {
    // Where a logit is NaN or infinite, probabilities are NaN.
    const bool open = std::ranges::any_of(outputs, [](float value) { return !(value < kInfinity); });
    const auto largest = std::ranges::max_element(outputs);
    write_probabilities(outputs, *largest, values);
    classes[0] = open ? -1 : largest - outputs.begin();
    return;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (kind_ != PredictionKind::values) {
      values[i] = probability_of(outputs[i]);
      classes[i] = std::isnan(outputs[i]) ? -1 : static_cast<double>(outputs[i]) > least_logit_ ? 1 : 0;
    } else if (undoes_) {
      // Nine digits are enough for a float32, and the prediction is not more exact.
      values[i] = rounded(static_cast<double>(outputs[i]) * at(args_.label.scale, i) + at(args_.label.offset, i), 9);
    } else {
      values[i] = static_cast<double>(outputs[i]);
    }
  }
}

}  // namespace millrace
