// TrainingFiles: the model files of one training: the file that it begins with (the key `load`), and those that it
// writes (the key `save`, Trainer::save()).
//
//   TrainingFiles files({.config = config, .input = graph, .step = *step, .context = context, .on_warning = log});
//   files.load();                     // before the first step
//   files.check_save({});             // likewise
//   files.pack("m.safetensors").write();
//
// The thread that trains uses this object; what its arguments refer to must outlive it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "millrace/core/context.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/model_file.h"
#include "millrace/trainer/files/saved_model.h"
#include "millrace/trainer/step/step.h"

namespace millrace {

struct TrainingFilesArgs {
  const Config& config;  // after complete_resolved()
  const InputGraph& input;
  TrainStep& step;
  Context& context;
  std::function<void(const std::string&)> on_warning;
};

class TrainingFiles {
 public:
  explicit TrainingFiles(TrainingFilesArgs args) : args_(std::move(args)) {}

  // Gives the model, and the optimizer if that is asked for, the values of the file. Throws what ModelFile::read(),
  // load_model() and load_optimizer() throw. Does nothing without the key `load`.
  void load();
  // Throws ConfigError if writing the model would lose a file that the training or its validation uses, or if the file
  // could not be read again; IoError if it cannot be written. Does nothing without the key `save`.
  void check_save(const InputFiles& validating);
  // The metadata of a checkpoint: each call gives the optimizer's counts as they are then. Throws ConfigError at the
  // key `checkpoint` if configuration or rows could not be read again.
  std::function<ModelMetadata()> checkpoint_metadata();

  // The model as it is now. The file of `path` has the optimizer's state if the key `save` asks for it.
  ModelFile pack(const std::string& path);
  ModelFile pack_without_optimizer(const std::string& path);
  // Keeps the model of the last step, if the best one takes its place, until save_last() writes it. The best model
  // matters more, so it is written before. A failure is a warning.
  void keep_last();
  // Returns the file's path; empty if there is none.
  std::string save_last();

 private:
  void check_target(const std::string& file, const InputFiles& validating) const;
  Spec kept_config() const;
  SavedFacts facts() const;
  OptimizerState optimizer_state();
  void lose_last(const Error& error) const;

  const TrainingFilesArgs args_;
  std::optional<ModelFile> last_;
};

}  // namespace millrace
