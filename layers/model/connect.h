// connect: gives every layer a name, and finds what it reads and how it wants the fields.
#pragma once

#include <string>
#include <vector>

#include "millrace/layers/model/model.h"

namespace millrace {

struct Connections {
  // For each layer the same as Model::Node::inputs: an earlier layer's index, or -1 - i for field i.
  std::vector<std::vector<int>> inputs;
  std::vector<NamedSpec> fields;  // the fields that are read, in order of first use, as their readers want them
};

// Fills in absent names of `layers`. Throws ConfigError for names that are used twice or unknown, layers that read
// later ones or that nothing reads, wrong numbers of inputs, and a field that two layers want in different dtypes.
// `dtype` is the model's.
Connections connect(std::vector<LayerNode>& layers, const std::vector<NamedSpec>& batch, DType dtype);

// "expected 2 inputs, got 1"; empty if the layer takes so many.
std::string wrong_input_count(const Layer& layer, int count);

}  // namespace millrace
