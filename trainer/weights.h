// Weights: the parameters and state of a model, hashed, saved and loaded. They may lie on any device.
//
// One thread uses the model and the context meanwhile.
#pragma once

#include <string>

#include "millrace/core/context.h"
#include "millrace/core/spec.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/model_file.h"

namespace millrace {

// SHA-256 over the parameters in model order as little-endian float32, in hexadecimal: equal trainings, equal hashes.
std::string hash_weights(Model& model, Context& context);

// Writes parameters, then state, with the resolved configuration. Throws IoError; the old file stays when it fails.
void save_weights(const std::string& path, Model& model, Context& context, const Spec& config);

// Gives every parameter and state of `model` the values of the same name. Throws DataError, and changes nothing, when
// one is missing, has another shape or dtype, or when the file holds others.
void load_weights(const ModelFile& file, Model& model, Context& context);

// The configuration that was saved with the weights. Throws DataError when there is none.
Spec saved_config(const ModelFile& file);

}  // namespace millrace
