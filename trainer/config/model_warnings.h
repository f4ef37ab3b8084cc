// Models that are allowed but unlikely to be meant.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "millrace/core/tensor.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"

namespace millrace {

struct ModelFacts {
  std::span<const Parameter> parameters = {};
  TensorSpec prediction, label;  // one row of each, the label as the loss reads it
};

// Warnings about the model of a resolved configuration.
std::vector<std::string> model_warnings(const Config& config, const LayerCatalog& kinds, const ModelFacts& facts);

// A warning about fields that are made from text although neither `readers` (the fields that model and loss read) nor
// an op names them; empty when there are no such fields.
std::string warning_of_unread_fields(const InputGraph& input, const std::vector<std::string>& readers);

}  // namespace millrace
