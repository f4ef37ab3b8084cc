// Checkpoint files: a training as it was at one step, in one model file.
//
//   write_checkpoint(path, {.step = 500, .metadata = saved_metadata(facts), .tensors = tensors, .numbers = numbers,
//                           .fingerprint = fingerprint});
//   const Checkpoint checkpoint = read_checkpoint(path);
//
// A checkpoint is a saved model (files/saved_model.h) with more in it: a seal (files/seal.h); the metadata "step",
// "loss" and "fingerprint"; the tensors of a training (is_of_training()); and last a tensor "state" of bytes, which
// holds State::encode(). So code that reads saved models also reads checkpoints.
//
// Files may come from anywhere: nothing is given out before the whole file was checked. Functions only; any thread may
// call them.
#pragma once

#include <cstdint>
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

// A view of values on the host, without gaps. Someone else owns the values.
struct CheckpointTensor {
  std::string name;
  ConstTensorView values;
};

struct CheckpointParts {
  uint64_t step = 0;
  ModelMetadata metadata;                 // made by saved_metadata()
  std::vector<CheckpointTensor> tensors;  // the model's tensors, then the training's, without "state"
  State numbers;
  Fingerprint fingerprint;
  std::optional<double> loss = {};  // as reports give it; absent before the first step
};

// Throws ConfigError if a file of these parts could not be read again (ModelFile::check()). The tensors need no values.
void check_checkpoint(const CheckpointParts& parts);

// Writes the file without copying the values. The file appears whole or not at all, and is on the disk when this
// returns. Throws IoError, and what check_checkpoint() throws.
void write_checkpoint(const std::string& path, const CheckpointParts& parts, FileCalls& calls = FileCalls::system());

// Move-only.
struct Checkpoint {
  uint64_t step = 0;
  State numbers;
  Fingerprint fingerprint;
  ModelFile file;
};

// Throws MissingError if the file cannot be opened, IoError if reading fails, ConfigError if the file has another
// format, and DataError if the file is not as write_checkpoint() wrote it, or if its name (checkpoint_name()) gives
// another step.
Checkpoint read_checkpoint(const std::string& path);

// Facts about a checkpoint, without its values.
struct CheckpointFacts {
  uint64_t step = 0;
  std::optional<double> loss;
};
// Reads and checks the whole file, and throws, like read_checkpoint(), but keeps no values. `from_disk`: the bytes come
// from the disk, and not from the system's cache in memory, if the system allows it.
CheckpointFacts verify_checkpoint(const std::string& path, bool from_disk = false);

// "checkpoint-000000500.safetensors". Names sort in the order of their steps, up to step 999,999,999.
std::string checkpoint_name(uint64_t step);
// The step in a file name without folders; empty if no checkpoint has such a name.
std::optional<uint64_t> step_of_name(std::string_view name);

}  // namespace millrace
