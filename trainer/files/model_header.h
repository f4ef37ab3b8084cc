// The header of a model file: JSON that says what the metadata are, and which tensors follow.
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
inline constexpr size_t kModelLengthBytes = 8;  // before the header: how long it is

// What messages say of a file.
struct ModelFileFaults {
  std::string path;
  bool checkpoint = false;

  static constexpr const char* kCutHint = "the file may have been cut off: copy or save it again";
  // The error that says what is wrong; its hint is how the file comes to be, if there is no other.
  DataError error(std::string_view what, const char* hint = nullptr) const;
};

struct ModelHeader {
  struct Described {
    std::string name;
    TensorSpec spec;
    uint64_t begin = 0, end = 0;  // of its values, after the header
  };

  ModelMetadata metadata;
  std::vector<Described> tensors;  // in the order of their values, which follow each other without a hole

  uint64_t value_bytes() const { return tensors.empty() ? 0 : tensors.back().end; }
};

// What a header says. `most_bytes`: no values are more. Throws the DataError of `faults`.
ModelHeader read_model_header(const std::string& text, uint64_t most_bytes, const ModelFileFaults& faults);

// The header that says this, with blanks at its end, so that the values begin at a multiple of 64 bytes. Throws
// ConfigError if it could not be read again.
std::string model_header(const ModelMetadata& metadata, const std::vector<ModelFile::Entry>& entries);

}  // namespace millrace
