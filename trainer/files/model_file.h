// Model files: the safetensors layout: 8 bytes of header length, a JSON header, the values.
//
//   ModelFile made("m.safetensors", {{"config", yaml}});
//   fill(made.add("dense.weight", {{2, 3}, DType::f32}));
//   made.write();
//   ModelFile file = ModelFile::read("m.safetensors");
//
// Files may come from anywhere: reading checks everything (sizes, offsets without holes or overlap, dtypes, duplicate
// names) against the file's size before it takes memory for the values. A header may have 16 MiB and 65536 tensors.
// Values are little-endian, like the hosts of this library. A checkpoint (checkpoint/checkpoint_file.h) is a model file
// with a seal (seal.h); reading compares its checksum.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/tensor.h"

namespace millrace {

using ModelMetadata = std::map<std::string, std::string>;

struct ModelReadArgs {
  bool checkpoint = false;  // the file must have a seal; messages call it a checkpoint
  bool values = true;       // false: everything is read and checked, but no values are kept
  bool from_disk = false;   // first asks the system to drop the file from its cache in memory
};

class ModelFile {
 public:
  struct Entry {
    std::string name;
    TensorSpec spec;
    Memory values;
  };

  // Throws MissingError if the file cannot be opened, DataError if it is not a model file or has changed since it was
  // sealed, IoError if reading fails.
  static ModelFile read(const std::string& path, const ModelReadArgs& args = {});

  // A model file that is only in memory, without values; `path` is what messages call it.
  explicit ModelFile(std::string path, ModelMetadata metadata = {})
      : path_(std::move(path)), metadata_(std::move(metadata)) {}
  // Adds a tensor and gives its values, zeros at first, to be written. REQUIRES: a new name.
  TensorView add(std::string name, const TensorSpec& spec);
  // Adds a tensor without values, for check(). REQUIRES: a new name.
  void declare(std::string name, const TensorSpec& spec);
  // Throws ConfigError if the file could not be read again: it has too many tensors, too long names or metadata, or a
  // text that is not UTF-8.
  void check() const;
  // The file's bytes before the values. Throws what check() throws.
  std::string head() const;
  // Writes the file, in order; it appears whole or not at all (AtomicFile). Throws IoError, and what check() throws.
  // REQUIRES: no tensor was only declared.
  void write() const;

  const std::string& path() const { return path_; }
  const ModelMetadata& metadata() const { return metadata_; }
  // In the order of the values.
  const std::vector<Entry>& entries() const { return entries_; }
  // The same, for a caller that moves or changes them.
  std::vector<Entry>& entries() { return entries_; }
  // Valid until the entries change.
  using Index = std::map<std::string_view, const Entry*>;
  Index by_name() const;
  static ConstTensorView values(const Entry& entry) {
    return ConstTensorView(entry.values.data(), entry.spec.dtype, entry.spec.shape);
  }

 private:
  std::string path_;
  ModelMetadata metadata_;
  std::vector<Entry> entries_;
};

}  // namespace millrace
