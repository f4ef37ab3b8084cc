// Models in files: a Model's parameters and state, with the configuration that made them.
#pragma once

#include <string>

#include "millrace/core/context.h"
#include "millrace/core/spec.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/model_file.h"

namespace millrace {

// SHA-256 over the parameters in model order, as little-endian float32: equal hashes mean equal models.
std::string weights_hash(Model& model, Context& context);

// Writes parameters, then state, as float32 under their names; the metadata holds `config` as YAML and the version.
// The file appears whole or not at all. Throws IoError.
void save_model(const std::string& path, Model& model, Context& context, const Spec& config);

// Gives every parameter and state of `model` the values of the same name. Throws DataError, and changes nothing, when
// one is absent or has another shape, or when the file holds others. REQUIRES: a model of float32.
void load_model(const ModelFile& file, Model& model, Context& context);

// The configuration that was saved with the values. Throws DataError when there is none.
Spec saved_config(const ModelFile& file);

}  // namespace millrace
