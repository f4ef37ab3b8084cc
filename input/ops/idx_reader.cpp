// idx_reader: rows of files in the IDX format, a file and a field each. MNIST is four such files.
#include <string_view>

#include "millrace/input/arrays/array_files.h"
#include "millrace/input/catalog.h"

namespace millrace {
namespace {

class IdxReader final : public ArrayFiles {
 public:
  using Options = ArrayFilesOptions;
  static constexpr std::string_view kDoc = "reads files in the IDX format, as MNIST's are, an array for each field";
  static constexpr std::string_view kExample =
      "fields: {image: train-images-idx3-ubyte.gz, label: train-labels-idx1-ubyte.gz}";

  explicit IdxReader(const Options& options) : ArrayFiles(options, read_idx_header) {}
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(idx_reader, IdxReader);
