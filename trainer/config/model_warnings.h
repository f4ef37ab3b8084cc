// Models that are allowed but unlikely to be meant.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "millrace/input/graph/pipeline.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"

namespace millrace {

// What is odd about the model of a resolved configuration, which has these parameters, for people to read.
std::vector<std::string> model_warnings(const Config& config, const LayerCatalog& kinds,
                                        std::span<const Parameter> parameters);

// What is odd about fields of the rows that are made of text, though neither `readers` (the fields that model and loss
// read) nor an op names them; empty when nothing is.
std::string warning_of_unread_fields(const InputGraph& input, const std::vector<std::string>& readers);

}  // namespace millrace
