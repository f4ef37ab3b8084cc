// The header of a model file: JSON with the metadata and a list of the tensors that follow.
//
// Headers may come from anywhere: reading checks everything. Functions only; any thread may call them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/trainer/files/model_file.h"

namespace millrace {

inline constexpr uint64_t kMaxModelHeader = uint64_t{16} << 20;
inline constexpr size_t kModelLengthBytes = 8;  // before the header: its length

// Makes the errors about a file.
struct ModelFileFaults {
  std::string path;
  bool checkpoint = false;

  static constexpr const char* kCutHint = "the file may have been cut off: copy or save it again";
  // `what` says what is wrong. Without `hint`, an error about a saved model says how such files are made.
  DataError error(std::string_view what, const char* hint = nullptr) const;
};

struct ModelHeader {
  struct Described {
    std::string name;
    TensorSpec spec;
    uint64_t begin = 0, end = 0;  // where its values lie, from the end of the header
  };

  ModelMetadata metadata;
  std::vector<Described> tensors;  // in the order of their values, which have no holes between them

  uint64_t value_bytes() const { return tensors.empty() ? 0 : tensors.back().end; }
};

// Parses a header. Throws the DataError of `faults` if the header is wrong, or if its values need more than
// `most_bytes`.
ModelHeader read_model_header(const std::string& text, uint64_t most_bytes, const ModelFileFaults& faults);

// The header for these metadata and tensors. Blanks at its end make the values begin at a multiple of 64 bytes. Throws
// ConfigError if the header could not be read again.
std::string model_header(const ModelMetadata& metadata, const std::vector<ModelFile::Entry>& entries);

}  // namespace millrace
