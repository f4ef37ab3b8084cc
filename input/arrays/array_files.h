// ArrayFiles: a file holds one array, and a field has files of its own; the i-th files of all fields belong together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/core/spec.h"
#include "millrace/input/arrays/array_source.h"
#include "millrace/input/sources/file_names.h"

namespace millrace {

struct ArrayFilesOptions : FileNamesOptions {
  Spec fields;
  int64_t chunk_bytes = 262144;
  void declare(OptionReader& o);
};

class ArrayFiles : public ArraySource {
 public:
  ArrayFiles(const ArrayFilesOptions& options, ReadHeader read_header);

 protected:
  std::vector<StoredArray> arrays_of(size_t index) const override;

 private:
  const ReadHeader read_header_;
};

}  // namespace millrace
