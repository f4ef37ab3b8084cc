// Predictions as lines of CSV or JSON. Pure: the same predictions give the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/trainer/predict/answers.h"

namespace millrace::cli {

struct PredictionTextArgs {
  std::string format = "csv";  // or "jsonl"
  Answers answers;
  // Columns of the data that each line repeats. Their names get a _ if the line has such a name already.
  std::vector<std::string> kept = {};
};

struct PredictedRow {
  std::string_view place = {};              // where it came from
  std::vector<std::string_view> kept = {};  // the texts of PredictionTextArgs::kept
  std::span<const float> output = {};       // of the model
  std::string_view error = {};              // why there is none; else empty
  std::optional<size_t> number = {};        // in JSON it stands in the place of `place`
};

// Throws UsageError if the answers are not yes or no, so that --threshold would change nothing.
void check_threshold(const Answers& answers);

class PredictionText {
 public:
  explicit PredictionText(PredictionTextArgs args);

  // The lines before the first row.
  std::string head() const;
  // Appends the line of a row. In CSV a class that a NaN leaves open is empty, and so is the name of a class without
  // one; in JSON the class is null, and the name is left out, or null in a list. If there is an error, all these and
  // the values are empty or null.
  void append(std::string& out, const PredictedRow& row) const;

 private:
  void append_csv(std::string& out, const PredictedRow& row, const Answer& answer) const;
  void append_json(std::string& out, const PredictedRow& row, const Answer& answer) const;
  std::vector<std::string> own_columns() const;

  PredictionTextArgs args_;
  bool classes_, names_;
  bool each_;                         // there is a class for each output
  bool several_;                      // several values, or a list of one
  std::vector<std::string> columns_;  // the names of the columns of CSV after those that are kept
};

}  // namespace millrace::cli
