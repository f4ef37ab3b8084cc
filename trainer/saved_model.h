// Models in files: a Model's parameters and state, with the configuration that made them.
#pragma once

#include <string>

#include "millrace/core/context.h"
#include "millrace/core/spec.h"
#include "millrace/layers/model/model.h"

namespace millrace {

// SHA-256 over the parameters in model order, as little-endian float32: equal hashes mean equal models.
std::string weights_hash(Model& model, Context& context);

// Writes parameters, then state, as float32 under their names; the metadata holds `config` as YAML and the version.
// The file appears whole or not at all. Throws IoError.
void save_model(const std::string& path, Model& model, Context& context, const Spec& config);

}  // namespace millrace
