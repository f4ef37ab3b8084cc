// Reads a model file: the configuration that it holds, the model with the saved values, and how rows are read for it.
//
// A model file may come from anywhere: its values are checked before memory is taken for what it asks.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/input/rows/row_block.h"
#include "millrace/input/transform.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/model_file.h"
#include "millrace/trainer/input/pass_input.h"

namespace millrace {

struct SavedConfigArgs {
  std::span<const std::string> overrides = {};
  std::function<Spec(const Config& config)> heeded;  // see Heeded in overrides.h; only called if there are overrides
  std::string_view hint = {};
};
// The file's configuration with the overrides (overrides.h). If the file asks for more threads than this machine has,
// `threads` is auto instead. Throws ConfigError with a place in the file's configuration, DataError when the file has
// none.
Config read_saved_config(const ModelFile& file, const SavedConfigArgs& args, const Catalog& catalog);

// The model, built from config.layers, which are moved away. `rows` are what the model reads. Throws DataError when the
// values do not fit the configuration, ShapeError when the model's output is not float32.
Model read_saved_model(const ModelFile& file, Config& config, const RowSpec& rows, Context& context);

// A pass over `input` that gives what the model reads, and with `judge` the label and the rows' weight, which need not
// be there otherwise. REQUIRES: config.layers are still there, as read_saved_config() read them.
PassArgs pass_for(const Config& config, const Spec& input, const OpRegistry& registry, bool judge);

// The history of the label and what `keys` say, for SavedConfigArgs::heeded.
Spec heeded_of(const Config& config, const FieldHistory& label, const std::vector<std::string_view>& keys);

// How the ops of the list `input` changed the label's values. The ops of the list tell it (Op::undo), from the last to
// the first. Nothing is opened or bound. Throws ConfigError for what is wrong with the list itself.
FieldHistory label_history(const Config& config, const Spec& input, const OpRegistry& registry);

// Bytes that a batch takes in `blocks` row blocks and on its way through the model, without the layers' own memory.
// Throws ShapeError if they are more than can be counted.
size_t batch_bytes(const Model& model, const RowSpec& rows, int64_t batch, size_t blocks = 1);

}  // namespace millrace
