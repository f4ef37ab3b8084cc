#include "millrace/trainer/training_files.h"

#include <set>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/registry.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/input/files/atomic_file.h"
#include "millrace/input/op.h"
#include "millrace/trainer/files/files_in_use.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"

namespace millrace {

namespace {

// SavedFacts::column_names. Names that a model file cannot hold are left out, because nobody needs them to train.
Spec column_names_of(const TextColumns& text) {
  Spec out = Spec::map();
  std::set<uint32_t> seen;
  for (const std::vector<uint32_t>& columns : text.columns) {
    for (const uint32_t column : columns) {
      const std::string name = text.format->field_name(column);
      if (!seen.insert(column).second || find_invalid_utf8(name) != name.npos) continue;
      out.set(cat(column), Spec::scalar(name, true, {}));
    }
  }
  const bool has_names = text.format->nameless_fields() == 0 && out.size() > 0;
  return has_names && to_yaml(out).size() <= kMaxYamlBytes ? std::move(out) : Spec();
}

// Throws an error of `node`, the key, if configuration or rows could not be read again.
void check_facts(const Spec& node, const SavedFacts& facts) {
  try {
    read_row_spec(row_spec_text(*facts.rows), "rows");
  } catch (ConfigError& error) {
    throw node.error(cat("the rows cannot be written to a model file: ", error.message()));
  }
  const size_t bytes = to_yaml(facts.config).size();  // throws for texts that YAML cannot hold
  if (bytes > kMaxYamlBytes) {
    throw node.error(cat("the model file would hold ", bytes, " bytes of configuration, with all defaults, ",
                         "at most ", kMaxYamlBytes, " can be read again"),
                     "shorten long lists: files as a pattern, columns as ranges such as 0-999");
  }
}

}  // namespace

void TrainingFiles::load() {
  const auto& wanted = args_.config.load;
  if (!wanted) return;
  const ModelFile file = ModelFile::read(wanted->file);
  Model& model = args_.step.model();
  load_model(file, model, args_.context);
  if (!wanted->optimizer) return;
  OptimizerState state = optimizer_state();
  load_optimizer(file, model, args_.context, state);
  args_.step.resume(state.steps, state.updates);
}

void TrainingFiles::check_save(const InputFiles& validating) {
  const Config& config = args_.config;
  if (!config.save) return;
  check_target(config.save->file, validating);
  if (config.validation && config.validation->keep_best) check_target(config.save->last_file(), validating);
  const OptimizerState optimizer = optimizer_state();
  SavedFacts saved = facts();
  if (config.save->optimizer) saved.optimizer = &optimizer;
  check_facts(config.node("save"), saved);
  try {
    check_model_file(args_.step.model(), saved);
  } catch (ConfigError& error) {
    throw config.node("save").error(error.message());
  }
}

void TrainingFiles::check_target(const std::string& file, const InputFiles& validating) const {
  std::string loss = would_overwrite(file, args_.input.files(), args_.config.written.place().file);
  if (loss.empty()) loss = would_overwrite(file, validating, {});
  const auto& checkpoint = args_.config.checkpoint;
  if (loss.empty() && checkpoint && is_among_checkpoints(file, checkpoint->dir)) {
    loss = cat(quote(file, 4096), " has a name as the checkpoints beside it");
  }
  if (!loss.empty()) throw args_.config.node("save").error(loss, "give it another name");
  check_writable(file);
}

std::function<ModelMetadata()> TrainingFiles::checkpoint_metadata() {
  const OptimizerState optimizer = optimizer_state();
  SavedFacts saved = facts();
  saved.config = args_.config.resolved;
  saved.optimizer = &optimizer;
  check_facts(args_.config.node("checkpoint"), saved);
  return [this, out = saved_metadata(saved)]() mutable {
    set_optimizer_counts(out, optimizer_state());
    return out;
  };
}

ModelFile TrainingFiles::pack(const std::string& path) {
  const OptimizerState optimizer = optimizer_state();
  SavedFacts saved = facts();
  if (args_.config.save && args_.config.save->optimizer) saved.optimizer = &optimizer;
  return pack_model(path, args_.step.model(), args_.context, saved);
}

ModelFile TrainingFiles::pack_without_optimizer(const std::string& path) {
  return pack_model(path, args_.step.model(), args_.context, facts());
}

void TrainingFiles::keep_last() {
  if (!args_.config.save) return;
  try {
    attributed("save", {}, [&] { last_ = pack(args_.config.save->last_file()); });
  } catch (const Error& error) {
    lose_last(error);
  }
}

std::string TrainingFiles::save_last() {
  if (!last_) return {};
  try {
    attributed("save", {}, [&] { last_->write(); });
    return last_->path();
  } catch (const Error& error) {
    lose_last(error);
    return {};
  }
}

void TrainingFiles::lose_last(const Error& error) const {
  args_.on_warning(cat("the model of the last step is lost: ", error.what()));
}

OptimizerState TrainingFiles::optimizer_state() {
  const Spec* node = args_.config.resolved.find("optimizer");
  return {.kind = kind_and_options(*node, "an optimizer").kind,
          .steps = args_.step.steps(),
          .updates = args_.step.updates(),
          .slots = args_.step.slots()};
}

SavedFacts TrainingFiles::facts() const {
  const TextColumns* text = args_.input.text_columns();
  return {.config = kept_config(),
          .nameless_fields = text != nullptr ? text->format->nameless_fields() : 0,
          .column_names = text != nullptr ? column_names_of(*text) : Spec(),
          .rows = &args_.input.first_rows()};
}

// The configuration that goes into a model file. Readers of the file need not know where the model, checkpoints and
// logs were written, what the training began with, and what was compared.
Spec TrainingFiles::kept_config() const {
  Spec kept = args_.config.resolved;
  for (const char* key : {"save", "load", "compare", "checkpoint", "log"}) kept.erase(key);
  return kept;
}

}  // namespace millrace
