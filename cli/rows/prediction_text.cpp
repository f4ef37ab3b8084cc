#include "millrace/cli/rows/prediction_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "millrace/cli/rows/csv_text.h"
#include "millrace/cli/text/json_text.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/core/math.h"
#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

Prediction yes_or_no(float logit) {
  // Of exponentials of negative numbers alone, so that none overflows.
  const double z = static_cast<double>(logit), e = math::exp(-std::abs(z));
  const double probability = (z < 0 ? e : 1) / (1 + e);
  Prediction out{{}, {static_cast<float>(probability)}};
  if (!std::isnan(logit)) out.chosen = logit > 0 ? 1 : 0;
  return out;
}

Prediction one_of_many(std::span<const float> logits) {
  const auto largest = std::max_element(logits.begin(), logits.end());
  std::vector<double> powers;
  double sum = 0;
  for (const float logit : logits) {
    powers.push_back(math::exp(static_cast<double>(logit) - static_cast<double>(*largest)));
    sum += powers.back();
  }
  Prediction out;
  for (const double power : powers) out.values.push_back(static_cast<float>(power / sum));
  const bool open = std::any_of(logits.begin(), logits.end(), [](float logit) { return std::isnan(logit); });
  if (!open) out.chosen = largest - logits.begin();
  return out;
}

Prediction prediction_of(PredictionKind kind, std::span<const float> output) {
  switch (kind) {
    case PredictionKind::yes_or_no: return yes_or_no(output.front());
    case PredictionKind::one_of_many: return one_of_many(output);
    case PredictionKind::values: break;
  }
  return {{}, {output.begin(), output.end()}};
}

double rounded(double value) {
  char buffer[40];
  const char* end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, 9).ptr;
  std::from_chars(buffer, end, value);
  return value;
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
  if (args_.format != PredictionFormat::csv) return {};
  const std::string classes = names_ ? "row,class,name" : "row,class";
  if (args_.kind == PredictionKind::yes_or_no) return classes + ",probability\n";
  std::string out = classes_ ? classes : "row";
  if (!classes_ && args_.outputs == 1) return out + ",prediction\n";
  for (int64_t i = 0; i < args_.outputs; ++i) out += cat(classes_ ? ",probability_" : ",prediction_", i);
  return out + '\n';
}

void PredictionText::append(std::string& out, std::string_view place, std::span<const float> output) const {
  Prediction prediction = prediction_of(args_.kind, output);
  std::vector<double> undone;
  for (size_t i = 0; undoes_ && i < prediction.values.size(); ++i) {
    undone.push_back(static_cast<double>(prediction.values[i]) * at(args_.label.scale, i) + at(args_.label.offset, i));
  }
  const std::vector<std::string>& names = args_.label.texts;
  const bool named = names_ && prediction.chosen && *prediction.chosen < std::ssize(names);
  const std::string* name = named ? &names[static_cast<size_t>(*prediction.chosen)] : nullptr;
  args_.format == PredictionFormat::csv ? append_csv(out, place, prediction, name, undone)
                                        : append_json(out, place, prediction, name, undone);
}

// A few digits more than float32 has: what was predicted has no more.
void PredictionText::append_csv(std::string& out, std::string_view place, const Prediction& prediction,
                                const std::string* name, const std::vector<double>& undone) const {
  append_csv_field(out, place, {}, true);
  if (classes_) out += prediction.chosen ? cat(',', *prediction.chosen) : ",";
  if (names_) {
    out += ',';
    if (name != nullptr) append_csv_field(out, *name, {}, false);
  }
  char buffer[40];
  for (size_t i = 0; i < prediction.values.size(); ++i) {
    out += ',';
    out += undone.empty() ? shortest_text(prediction.values[i], buffer) : shortest_text(rounded(undone[i]), buffer);
  }
  out += '\n';
}

void PredictionText::append_json(std::string& out, std::string_view place, const Prediction& prediction,
                                 const std::string* name, const std::vector<double>& undone) const {
  JsonText json;
  json.open('{').key("v").value(1).key("row").value(place);
  if (classes_) json.key("class").value(prediction.chosen);
  if (name != nullptr) json.key("name").value(*name);
  json.key(classes_ ? "probability" : "prediction");
  const bool one_value = args_.outputs == 1 && args_.kind != PredictionKind::one_of_many;
  if (!one_value) json.open('[');
  for (size_t i = 0; i < prediction.values.size(); ++i) {
    undone.empty() ? json.value(prediction.values[i]) : json.value(rounded(undone[i]));
  }
  if (!one_value) json.close(']');
  json.close('}');
  out += json.text();
  out += '\n';
}

}  // namespace millrace::cli
