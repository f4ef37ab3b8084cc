// Checkpoints: handles the key `checkpoint` of a training. It goes on from a checkpoint, and writes one whenever one is
// due.
//
//   const auto checkpoints = Checkpoints::make({.config = config, ..});
//   if (auto report = checkpoints->resume("")) ...              // before the first step
//   checkpoints->begin();
//   checkpoints->at_border(step, false);                        // between two steps
//   checkpoints->end();
//
// The training waits while its values are copied; another thread then writes the copy. A step costs next to nothing if
// no checkpoint is due. A checkpoint that cannot be written does not end the training: the failure is reported and
// counted.
//
// The thread that trains uses this object; any thread may call ask(). A build without checkpoints has this header only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/spec.h"
#include "millrace/input/files/file_calls.h"
#include "millrace/trainer/checkpoint/training_state.h"
#include "millrace/trainer/config/checkpoint_options.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/model_file.h"
#include "millrace/trainer/files/saved_model.h"
#include "millrace/trainer/trainer.h"

namespace millrace {

struct CheckpointsArgs {
  const Config& config;  // complete, with the key `checkpoint`
  const Catalog& catalog;
  Context& context;
  TrainingStateArgs parts;
  // Gives the metadata of a saved model, with the whole configuration and the optimizer's counts.
  std::function<ModelMetadata()> metadata;
  std::function<double()> loss;  // the loss as reports give it; only called after a step
  // Files that the input writes. They must be on the disk before a checkpoint that counts their lines.
  std::vector<std::string> written = {};
  CudaNeeds needs = {};  // of the model
  FileCalls& calls = FileCalls::system();
  // at_border() calls these.
  std::function<void(const CheckpointReport&)> on_written;
  std::function<void(const std::string&)> on_warning;
};

class Checkpoints {
 public:
  // Throws ConfigError if a checkpoint of this training could not be read again.
  static std::unique_ptr<Checkpoints> make(const CheckpointsArgs& args);
  virtual ~Checkpoints() = default;

  // See Trainer.
  virtual std::optional<ResumeReport> resume(const std::string& file) = 0;
  virtual void appends_to(const std::string& path) = 0;
  virtual void ask() noexcept = 0;

  // Takes the folder's lock, unless resume() did. Throws ConfigError if the folder has checkpoints and resume() was not
  // called. Returns warnings.
  virtual std::vector<std::string> begin() = 0;
  // Called after `step` and before the next one. `last`: no step follows, so this waits until the checkpoint is on the
  // disk. Returns whether a checkpoint has everything learned so far, or will have it once it is written.
  virtual bool at_border(int64_t step, bool last) = 0;
  // Waits for the checkpoint that is being written, and gives the folder back. Only summary() may be called afterwards.
  virtual void end() = 0;
  virtual const CheckpointSummary& summary() const = 0;
  // An upper bound of the memory that checkpoints take, in bytes. REQUIRES: TrainStep::memory_bound() was called.
  virtual uint64_t memory_bound() const = 0;
};

}  // namespace millrace
