// Compares what a model answers here with what its ONNX file answers in onnxruntime.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/cli/export/onnx_runtime.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/export/onnx_model.h"
#include "millrace/trainer/predict/network.h"

namespace millrace::cli {

struct OnnxCheck {
  uint64_t rows = 0;      // compared
  uint64_t bad_rows = 0;  // left out, because `trainer predict` has no answer for them
  uint64_t differ = 0;    // rows beyond the bound
  uint64_t nan = 0;       // rows in which `trainer predict` answers with a NaN
  double largest = 0;     // the largest difference of two values
  double share = 0;       // the largest difference divided by the size of the value
  std::string first;      // the place of the first row beyond the bound
  std::string version;    // of onnxruntime
};

// Values may differ by 1e-5 of their size: the largest of 1, the value, and what the label of the training was divided
// by. Classes must be equal, unless the probabilities that decide are as near to each other.
inline constexpr double kOnnxBound = 1e-5;

// `predictor` runs the model on the data, and keeps columns_to_keep(); `runtime` has the file of `model`. Throws as
// Predictor::next(), and what OnnxRuntime throws.
OnnxCheck check_onnx(Predictor& predictor, const OnnxModel& model, OnnxRuntime& runtime);

// PredictorArgs::keep for check_onnx(). Throws ConfigError if an input of the model is no column of text.
std::vector<std::string> columns_to_keep(const OnnxModel& model);

// "1000 rows compared with onnxruntime 1.17.0, largest difference 0.0025 (4.9e-08 of its size), 0 rows beyond the
// bound".
std::string check_text(const OnnxCheck& check);

}  // namespace millrace::cli
