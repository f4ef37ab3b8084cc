// Predictions as lines of CSV or JSON. Pure: the same predictions give the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/options.h"
#include "millrace/input/transform.h"
#include "millrace/layers/loss.h"

namespace millrace {

namespace cli {
enum class PredictionFormat : uint8_t { csv, jsonl };
}  // namespace cli

template <>
struct EnumNames<cli::PredictionFormat> {
  static constexpr std::pair<std::string_view, cli::PredictionFormat> kNames[] = {
      {"csv", cli::PredictionFormat::csv}, {"jsonl", cli::PredictionFormat::jsonl}};
};

namespace cli {

// What is said of a row, by the loss that the model was trained with.
enum class PredictionKind : uint8_t {
  values,      // the model's outputs
  yes_or_no,   // of one logit: whether it is positive, and the probability of that
  one_of_many  // of several logits: the first of the largest, and the probability of each
};
PredictionKind prediction_kind(Predictions predictions, int64_t outputs, bool raw);

// What a row's outputs mean.
struct Prediction {
  std::optional<int64_t> chosen;  // absent where a NaN leaves it open
  std::vector<float> values;
};

struct PredictionTextArgs {
  PredictionFormat format = PredictionFormat::csv;
  PredictionKind kind = PredictionKind::values;
  int64_t outputs = 1;  // values of a row
  // What becomes of them: texts of classes, or what was done to the label is undone.
  FieldHistory label = {};
};

class PredictionText {
 public:
  explicit PredictionText(PredictionTextArgs args);

  // The lines before the first row.
  std::string head() const;
  // Appends the line of a row. A class that NaN leaves open is null, in CSV empty, and so is a name that it lacks.
  void append(std::string& out, std::string_view place, std::span<const float> output) const;

 private:
  // `name` may be null; `undone`, where not empty, stands in place of the values.
  void append_csv(std::string& out, std::string_view place, const Prediction& prediction, const std::string* name,
                  const std::vector<double>& undone) const;
  void append_json(std::string& out, std::string_view place, const Prediction& prediction, const std::string* name,
                   const std::vector<double>& undone) const;

  PredictionTextArgs args_;
  bool classes_, names_, undoes_;
};

}  // namespace cli
}  // namespace millrace
