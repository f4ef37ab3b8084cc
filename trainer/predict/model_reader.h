// What a model file becomes in this process: the configuration that it holds, and its model with the saved values.
//
// A model file comes from anywhere: before memory is taken for what it asks, its values are checked.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/input/rows/row_block.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/model_file.h"

namespace millrace {

// With the overrides (overrides.h), and with as many threads as this machine has where the file asks for more. Throws
// ConfigError with a place in the file's configuration, DataError when there is none.
Config read_saved_config(const ModelFile& file, std::span<const std::string> overrides, const Catalog& catalog);

// Takes config.layers. `rows` are what the model reads. Throws DataError when the values do not fit the configuration,
// ShapeError when the model gives anything but float32.
Model read_saved_model(const ModelFile& file, Config& config, const RowSpec& rows, Context& context);

// Every name that may be that of a field which the model reads; some are those of layers, which does no harm.
std::vector<std::string> names_read(const std::vector<LayerNode>& layers);

// Bytes that a batch takes as it is read and as it goes through the model, without what layers need inside. Throws
// ShapeError when they are more than can be counted.
size_t batch_bytes(const Model& model, const RowSpec& rows, int64_t batch);

}  // namespace millrace
