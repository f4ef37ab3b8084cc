// Model files: the safetensors layout: 8 bytes of header length, a JSON header, the values.
//
//   write_model_file("m.safetensors", {{"config", yaml}}, tensors);
//   ModelFile file = ModelFile::read("m.safetensors");
//
// Files may come from anywhere: reading checks everything (sizes, offsets without holes or overlap, dtypes, duplicate
// names) against the file's size before it takes memory for the values. Values are little-endian, like the hosts of
// this library.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "millrace/core/tensor.h"

namespace millrace {

// Values in host memory, contiguous, that somebody else owns.
struct NamedTensor {
  std::string name;
  ConstTensorView values;
};

using ModelMetadata = std::map<std::string, std::string>;

// Writes all tensors in order, to a temporary file that is synced and renamed. Throws IoError; ConfigError for a text
// that is not UTF-8. REQUIRES: unique names, contiguous views.
void write_model_file(const std::string& path, const ModelMetadata& metadata, std::span<const NamedTensor> tensors);

class ModelFile {
 public:
  struct Entry {
    std::string name;
    TensorSpec spec;
    size_t offset = 0;  // bytes from the start of the values
  };

  // Throws MissingError when the file cannot be opened, DataError when it is not a model file, IoError when reading
  // fails.
  static ModelFile read(const std::string& path);
  // A model file that is only in memory, with copies of the values; `name` stands for its path. REQUIRES: what
  // write_model_file() requires.
  static ModelFile of(std::string name, ModelMetadata metadata, std::span<const NamedTensor> tensors);

  const std::string& path() const { return path_; }
  const ModelMetadata& metadata() const { return metadata_; }
  // In the order of the values.
  const std::vector<Entry>& entries() const { return entries_; }
  ConstTensorView values(const Entry& entry) const;

 private:
  std::string path_;
  ModelMetadata metadata_;
  std::vector<Entry> entries_;
  Memory memory_;
};

}  // namespace millrace
