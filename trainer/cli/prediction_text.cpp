#include "millrace/trainer/cli/prediction_text.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "millrace/core/math.h"
#include "millrace/core/text.h"
#include "millrace/trainer/cli/csv_text.h"
#include "millrace/trainer/cli/json_text.h"
#include "millrace/trainer/cli/number_format.h"

namespace millrace::cli {

namespace {

struct Prediction {
  std::optional<int64_t> chosen;  // absent where a NaN leaves it open
  std::vector<float> values;
};

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

void append_csv_line(std::string& out, std::string_view place, const Prediction& prediction, bool classes) {
  append_csv_field(out, place, {}, true);
  if (classes) out += prediction.chosen ? cat(',', *prediction.chosen) : ",";
  char buffer[40];
  for (const float value : prediction.values) {
    out += ',';
    out += shortest_text(value, buffer);
  }
  out += '\n';
}

void append_json_line(std::string& out, std::string_view place, const Prediction& prediction, bool classes,
                      bool one_value) {
  JsonText json;
  json.open('{').key("v").value(1).key("row").value(place);
  if (classes) json.key("class").value(prediction.chosen);
  json.key(classes ? "probability" : "prediction");
  if (one_value) {
    json.value(prediction.values.front());
  } else {
    json.open('[');
    for (const float value : prediction.values) json.value(value);
    json.close(']');
  }
  json.close('}');
  out += json.text();
  out += '\n';
}

}  // namespace

PredictionKind prediction_kind(std::string_view loss, int64_t outputs, bool raw) {
  if (!raw && loss == "sigmoid_cross_entropy" && outputs == 1) return PredictionKind::yes_or_no;
  if (!raw && loss == "softmax_cross_entropy" && outputs > 0) return PredictionKind::one_of_many;
  return PredictionKind::values;
}

std::string PredictionText::head() const {
  if (format_ != PredictionFormat::csv) return {};
  if (kind_ == PredictionKind::yes_or_no) return "row,class,probability\n";
  const bool classes = kind_ == PredictionKind::one_of_many;
  std::string out = classes ? "row,class" : "row";
  if (!classes && outputs_ == 1) return out + ",prediction\n";
  for (int64_t i = 0; i < outputs_; ++i) out += cat(classes ? ",probability_" : ",prediction_", i);
  return out + '\n';
}

void PredictionText::append(std::string& out, std::string_view place, std::span<const float> output) const {
  const Prediction prediction = prediction_of(kind_, output);
  const bool classes = kind_ != PredictionKind::values;
  if (format_ == PredictionFormat::csv) {
    append_csv_line(out, place, prediction, classes);
  } else {
    append_json_line(out, place, prediction, classes, outputs_ == 1 && kind_ != PredictionKind::one_of_many);
  }
}

}  // namespace millrace::cli
