// Predictions as lines of CSV or JSON. Pure: the same predictions give the same bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "millrace/trainer/predict/answers.h"

namespace millrace::cli {

struct PredictionTextArgs {
  std::string format = "csv";  // or "jsonl"
  Answers answers;
};

class PredictionText {
 public:
  explicit PredictionText(PredictionTextArgs args);

  // The lines before the first row.
  std::string head() const;
  // Appends the line of a row. In CSV a class that a NaN leaves open is empty, and so is the name of a class without
  // one; in JSON the class is null, and the name is left out, or null in a list.
  void append(std::string& out, std::string_view place, std::span<const float> output) const;

 private:
  void append_csv(std::string& out, std::string_view place, const Answer& answer) const;
  void append_json(std::string& out, std::string_view place, const Answer& answer) const;

  PredictionTextArgs args_;
  bool classes_, names_;
  bool each_;     // there is a class for each output
  bool several_;  // several values, or a list of one
};

}  // namespace millrace::cli
