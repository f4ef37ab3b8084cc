// OnnxModel: a saved model as an ONNX graph, from the columns of its data to the answers of `trainer predict`.
//
//   const OnnxModel model = onnx_model({.model = "m.safetensors"});
//   write(onnx_bytes(model.graph, ..));
//
// Outputs are named like the columns of `trainer predict`: class (int64), name (its text) and probability, or
// prediction; a _ at the end makes a name another one than an input's. class and name are (rows) if a row has one
// class.
#pragma once

#include <string>
#include <vector>

#include "millrace/core/onnx/onnx_graph.h"
#include "millrace/input/onnx_rows.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/predict/answers.h"

namespace millrace {

struct OnnxModel {
  OnnxGraph graph;
  std::vector<OnnxTextInput> text_inputs;  // the inputs that are columns of text, in the order of the graph's
  Answers answers;
  std::string config_hash;  // SHA-256 of the configuration in the model file
};

struct OnnxModelArgs {
  std::string model;  // a file that a training saved, or a checkpoint
  bool best = false;  // the parameters of the best validation in a checkpoint (validation.keep_best)
};

// Throws as Network::load(), and ConfigError that names a layer or an op, and its place, that ONNX cannot express.
OnnxModel onnx_model(const OnnxModelArgs& args, const Catalog& catalog = Catalog::builtin());

}  // namespace millrace
