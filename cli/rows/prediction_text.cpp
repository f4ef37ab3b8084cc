#include "millrace/cli/rows/prediction_text.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "millrace/cli/rows/csv_text.h"
#include "millrace/cli/text/json_text.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/core/math.h"
#include "millrace/core/text.h"

namespace millrace::cli {

// The meaning of a row's outputs.
struct PredictionText::Prediction {
  std::optional<int64_t> chosen = {};  // the class; absent if an output is NaN
  std::vector<float> values = {};
  const std::string* name = nullptr;  // the name of the class; null if it has none
  std::vector<double> undone = {};    // if it is not empty, it is written instead of the values
};

namespace {

double probability_of(float logit) {
  // exp() of a negative number cannot overflow.
  const double z = static_cast<double>(logit), e = math::exp(-std::abs(z));
  return (z < 0 ? e : 1) / (1 + e);
}

std::vector<float> probabilities_of(std::span<const float> logits, float largest) {
  std::vector<double> powers;
  double sum = 0;
  for (const float logit : logits) {
    powers.push_back(math::exp(static_cast<double>(logit) - static_cast<double>(largest)));
    sum += powers.back();
  }
  std::vector<float> out;
  for (const double power : powers) out.push_back(static_cast<float>(power / sum));
  return out;
}

double at(const std::vector<double>& values, size_t index) { return values[values.size() == 1 ? 0 : index]; }

}  // namespace

PredictionKind prediction_kind(Predictions predictions, int64_t outputs, bool raw) {
  if (!raw && predictions == Predictions::sigmoid_logits && outputs == 1) return PredictionKind::yes_or_no;
  if (!raw && predictions == Predictions::softmax_logits && outputs > 0) return PredictionKind::one_of_many;
  return PredictionKind::values;
}

PredictionText::PredictionText(PredictionTextArgs args) : args_(std::move(args)) {
  const FieldHistory& label = args_.label;
  const auto fits = [&](const std::vector<double>& values) {
    return values.size() == 1 || std::ssize(values) == args_.outputs;
  };
  classes_ = args_.kind != PredictionKind::values;
  names_ = classes_ && !label.texts.empty();
  const bool changed = label.scale != std::vector<double>{1} || label.offset != std::vector<double>{0};
  undoes_ = !classes_ && changed && label.complete && fits(label.scale) && fits(label.offset);
}

std::string PredictionText::head() const {
  if (args_.format != "csv") return {};
  const std::string classes = names_ ? "row,class,name" : "row,class";
  if (args_.kind == PredictionKind::yes_or_no) return classes + ",probability\n";
  std::string out = classes_ ? classes : "row";
  if (!classes_ && args_.outputs == 1) return out + ",prediction\n";
  for (int64_t i = 0; i < args_.outputs; ++i) out += cat(classes_ ? ",probability_" : ",prediction_", i);
  return out + '\n';
}

PredictionText::Prediction PredictionText::prediction_of(std::span<const float> output) const {
  Prediction out;
  const bool open = std::ranges::any_of(output, [](float value) { return std::isnan(value); });
  if (args_.kind == PredictionKind::yes_or_no) {
    out.values = {static_cast<float>(probability_of(output.front()))};
    if (!open) out.chosen = output.front() > 0 ? 1 : 0;
  } else if (args_.kind == PredictionKind::one_of_many) {
    const auto largest = std::ranges::max_element(output);
    out.values = probabilities_of(output, *largest);
    if (!open) out.chosen = largest - output.begin();
  } else {
    out.values.assign(output.begin(), output.end());
  }
  const std::vector<std::string>& names = args_.label.texts;
  if (names_ && out.chosen && *out.chosen < std::ssize(names)) out.name = &names[static_cast<size_t>(*out.chosen)];
  for (size_t i = 0; undoes_ && i < out.values.size(); ++i) {
    // Nine digits are enough for a float32, and the prediction is not more exact.
    out.undone.push_back(
        rounded(static_cast<double>(out.values[i]) * at(args_.label.scale, i) + at(args_.label.offset, i), 9));
  }
  return out;
}

void PredictionText::append(std::string& out, std::string_view place, std::span<const float> output) const {
  const Prediction prediction = prediction_of(output);
  args_.format == "csv" ? append_csv(out, place, prediction) : append_json(out, place, prediction);
}

void PredictionText::append_csv(std::string& out, std::string_view place, const Prediction& prediction) const {
  append_csv_field(out, place, {}, true);
  if (classes_) out += prediction.chosen ? cat(',', *prediction.chosen) : ",";
  if (names_) {
    out += ',';
    if (prediction.name != nullptr) append_csv_field(out, *prediction.name, {}, false);
  }
  char buffer[40];
  for (size_t i = 0; i < prediction.values.size(); ++i) {
    out += ',';
    out += undoes_ ? shortest_text(prediction.undone[i], buffer) : shortest_text(prediction.values[i], buffer);
  }
  out += '\n';
}

void PredictionText::append_json(std::string& out, std::string_view place, const Prediction& prediction) const {
  JsonText json;
  json.open('{').key("v").value(1).key("row").value(place);
  if (classes_) json.key("class").value(prediction.chosen);
  if (prediction.name != nullptr) json.key("name").value(*prediction.name);
  json.key(classes_ ? "probability" : "prediction");
  const bool one_value = args_.outputs == 1 && args_.kind != PredictionKind::one_of_many;
  if (!one_value) json.open('[');
  for (size_t i = 0; i < prediction.values.size(); ++i) {
    undoes_ ? json.value(prediction.undone[i]) : json.value(prediction.values[i]);
  }
  if (!one_value) json.close(']');
  out += json.line();
}

}  // namespace millrace::cli
