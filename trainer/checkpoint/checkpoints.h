// Checkpoints: what a training does with its key `checkpoint`: goes on from one, writes one whenever one is due.
//
//   const auto checkpoints = Checkpoints::make({.config = config, ..});
//   if (auto report = checkpoints->resume("")) ...              // before the first step
//   checkpoints->begin();
//   checkpoints->at_border(step, false);                        // between two steps
//   checkpoints->end();
//
// A step waits until its values are copied; a thread of its own then writes the copy. Steps at which nothing is due
// cost next to nothing. Nothing that fails while the training runs ends it: that is told and counted.
//
// The thread that trains uses it; ask() may be called from any thread. A build without checkpoints has this header
// only.
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
  const Config& config;  // with the key `checkpoint`; complete
  const Catalog& catalog;
  Context& context;
  TrainingStateArgs parts;
  // The metadata of a saved model, with the whole configuration and the optimizer's counts.
  std::function<ModelMetadata()> metadata;
  std::function<double()> loss;  // as a report says it; only called after a step
  // Files of the input, to be on the disk before a checkpoint that counts their lines.
  std::vector<std::string> written = {};
  CudaNeeds needs = {};  // of the model
  FileCalls& calls = FileCalls::system();
  // Called by at_border().
  std::function<void(const CheckpointReport&)> on_written;
  std::function<void(const std::string&)> on_warning;
};

class Checkpoints {
 public:
  static std::unique_ptr<Checkpoints> make(const CheckpointsArgs& args);
  virtual ~Checkpoints() = default;

  // See Trainer.
  virtual std::optional<ResumeReport> resume(const std::string& file) = 0;
  virtual void appends_to(const std::string& path) = 0;
  virtual void ask() noexcept = 0;

  // Takes the folder, unless resume() did. Throws ConfigError if the folder has checkpoints and there was no resume().
  // Returns warnings.
  virtual std::vector<std::string> begin() = 0;
  // After `step` and before the next one. `last`: no other step follows; then it returns when the checkpoint is on the
  // disk. Returns whether what was learned so far is in a checkpoint, or will be.
  virtual bool at_border(int64_t step, bool last) = 0;
  // Waits for what is being written, and gives the folder back; nothing but summary() may follow.
  virtual void end() = 0;
  virtual const CheckpointSummary& summary() const = 0;
  // An upper bound of the bytes of the copy.
  virtual uint64_t memory_bound() const = 0;
};

}  // namespace millrace
