// Checkpoint files: a training as it was at one step, in one model file.
//
//   write_checkpoint(path, {.step = 500, .metadata = saved_metadata(facts), .tensors = tensors, .numbers = numbers,
//                           .fingerprint = fingerprint});
//   const Checkpoint checkpoint = read_checkpoint(path);
//
// A saved model (files/saved_model.h) with more in it: a seal (files/seal.h), the metadata "step", "loss" and
// "fingerprint", the tensors of a training (is_of_training()), and last a tensor "state" of bytes, which are
// State::encode(). So whoever reads models reads checkpoints.
//
// Files may come from anywhere: nothing is given out before all of it was checked. Functions only; any thread may call
// them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/state.h"
#include "millrace/core/tensor.h"
#include "millrace/input/files/file_calls.h"
#include "millrace/trainer/checkpoint/fingerprint.h"
#include "millrace/trainer/files/model_file.h"

namespace millrace {

// Values on the host, without gaps, that somebody else owns.
struct CheckpointTensor {
  std::string name;
  ConstTensorView values;
};

struct CheckpointParts {
  uint64_t step = 0;
  ModelMetadata metadata;                 // saved_metadata()
  std::vector<CheckpointTensor> tensors;  // the model's, then those of the training, without "state"
  State numbers;
  Fingerprint fingerprint;
  std::optional<double> loss = {};  // as a report says it; absent before the first step
};

// Writes the file from where the values are; it appears whole or not at all, and is on the disk when this returns.
// Throws IoError; ConfigError if it could not be read again (ModelFile::check()).
void write_checkpoint(const std::string& path, const CheckpointParts& parts, FileCalls& calls = FileCalls::system());

// Move-only.
struct Checkpoint {
  uint64_t step = 0;
  State numbers;
  Fingerprint fingerprint;
  ModelFile file;

  // Without data if there is no tensor of this name, or if it is empty.
  ConstTensorView tensor(std::string_view name) const;

  // For read_checkpoint().
  std::map<std::string_view, const ModelFile::Entry*> by_name;
};

// Throws MissingError if the file cannot be opened, IoError if reading fails, ConfigError if it has another format, and
// DataError if it is not what write_checkpoint() wrote, or if its name says another step (checkpoint_name()).
Checkpoint read_checkpoint(const std::string& path);

// What there is to say of a checkpoint.
struct CheckpointFacts {
  uint64_t step = 0;
  std::optional<double> loss;
  ModelMetadata metadata;
};
// Reads all of the file, as read_checkpoint() does, and throws the same, but keeps no values. `from_disk`: if possible,
// from the disk and not from what the system keeps of it in memory.
CheckpointFacts verify_checkpoint(const std::string& path, bool from_disk = false);

// "checkpoint-000000500.safetensors": names have the order of steps up to 999,999,999.
std::string checkpoint_name(uint64_t step);
// The step in a name without folders; empty if it is not the name of a checkpoint.
std::optional<uint64_t> step_of_name(std::string_view name);

}  // namespace millrace
