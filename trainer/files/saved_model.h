// Models in files: a Model's parameters and state, with the configuration that made them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/spec.h"
#include "millrace/input/rows/row_block.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/files/model_file.h"

namespace millrace {

// SHA-256 over the parameters in model order, as little-endian float32: equal hashes mean equal models.
std::string weights_hash(const Model& model, Context& context);

// The spec of a training's rows as a YAML list: "- {name: features, type: float32, shape: [4]}". Throws ConfigError for
// a name that is not UTF-8.
std::string row_spec_text(const RowSpec& rows);
// Reads the text of row_spec_text(), which may come from anywhere. Throws ConfigError placed in `name`.
RowSpec read_row_spec(std::string_view text, const std::string& name);

// The state that an optimizer keeps besides the parameters.
struct OptimizerState {
  std::string kind;  // "adam"
  uint64_t steps = 0, updates = 0;
  // Optimizer::state_slots() blocks, each laid out like the model's parameter block.
  std::vector<TensorView> slots;
};

// The facts that a model file holds besides the values.
struct SavedFacts {
  Spec config;
  int64_t nameless_fields = 0;  // of the text that the model was trained on (TextFormat)
  // The names in that text's header of the columns that were read, by their numbers: {0: age}. Null: there are none.
  Spec column_names = {};
  const RowSpec* rows = nullptr;  // InputGraph::first_rows(); null: not written
  const OptimizerState* optimizer = nullptr;
};

// The metadata of a file with these facts: the configuration as YAML, the version, and others.
ModelMetadata saved_metadata(const SavedFacts& facts);

// Sets the counts of steps and updates in metadata from saved_metadata(). REQUIRES: the metadata have an optimizer.
void set_optimizer_counts(ModelMetadata& metadata, const OptimizerState& optimizer);

// A model file that holds parameters, then state, as float32 under their names, then the optimizer's slots, if there
// are any, as "optimizer/<slot>/<parameter>"; the metadata holds the configuration as YAML and the version.
ModelFile pack_model(const std::string& path, const Model& model, Context& context, const SavedFacts& facts);

// Throws ConfigError if the file that pack_model() makes of this could not be read again.
void check_model_file(const Model& model, const SavedFacts& facts);

// Checks that the file holds what load_model() needs for `model`, whose parameters and states may be only declared
// (ModelArgs::check). Throws the DataError of load_model().
void check_saved_model(const ModelFile& file, const Model& model);

// Whether a tensor of this name is one that a training keeps besides the model: "state", or a name that begins with
// optimizer/, gradients/, before/ or best/.
bool is_of_training(std::string_view tensor);

// Gives every parameter and state of `model` the values of the same name. Throws DataError, and changes nothing, if
// values are absent or have another shape, or if the file holds further tensors, except those of a training
// (is_of_training()). Throws ConfigError if the file is a checkpoint in a format that this version does not read.
// REQUIRES: a model of float32.
void load_model(const ModelFile& file, Model& model, Context& context);

// Fills `state.slots` and the counts. Throws DataError, and changes nothing, when the file holds no such state of an
// optimizer of this kind.
void load_optimizer(const ModelFile& file, const Model& model, Context& context, OptimizerState& state);

// The format of checkpoints that this version writes and reads.
inline constexpr std::string_view kCheckpointFormat = "1";
// Throws ConfigError if the file is a checkpoint of another format.
void check_format(const ModelFile& file);

// The checkpoint with the best parameters and states in place of the last ones. Throws DataError if it has no best
// ones.
ModelFile best_model(ModelFile file);

// The configuration that was saved with the values. Throws DataError if there is none, and what check_format() throws.
Spec saved_config(const ModelFile& file);
// The name of the model file `path` in the places of its configuration.
std::string saved_config_name(const std::string& path);
// SavedFacts::rows; no fields if the file does not tell. Throws ConfigError with a place in the file.
RowSpec saved_rows(const ModelFile& file);
// SavedFacts::nameless_fields; 0 if the file does not tell.
int64_t saved_nameless_fields(const ModelFile& file);
// SavedFacts::column_names; null if the file does not tell. Throws ConfigError with a place in the file.
Spec saved_column_names(const ModelFile& file);

}  // namespace millrace
