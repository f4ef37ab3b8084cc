// OnnxLayer: what Layer::to_onnx() is given. Before it, what several layers add to an ONNX graph.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "millrace/core/onnx/onnx_graph.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/activations/activation.h"

namespace millrace {

// Adds the activation of `z`; returns `z` itself if there is none.
MILLRACE_EXPORT OnnxValue add_activation(OnnxGraph& graph, Activation activation, OnnxValue z);

// A layer of a model that is written as ONNX. Values are float32 tensors of (rows, shape...), whatever layout_use()
// says; parameters and states are in the order in which build() declared them.
struct OnnxLayer {
  OnnxGraph& graph;
  std::span<const OnnxValue> inputs;
  std::span<const TensorSpec> input_specs;  // of one row
  const TensorSpec& output;
  std::span<const OnnxValue> params, state;
};

}  // namespace millrace
