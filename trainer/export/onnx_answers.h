// The outputs of an ONNX graph: what Answers makes of a model's outputs.
#pragma once

#include <string>

#include "millrace/core/onnx/onnx_graph.h"
#include "millrace/trainer/predict/answers.h"

namespace millrace {

// `outputs` is float32 of (rows, ..). `refused`, (rows) of truth values, says which rows get NaN and class -1;
// kNoOnnxValue: none.
void add_answers(OnnxGraph& graph, const Answers& answers, OnnxValue outputs, OnnxValue refused);

}  // namespace millrace
