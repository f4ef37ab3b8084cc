// npy_reader: rows of NumPy's arrays, a file and a field each.
#include <string_view>

#include "millrace/input/arrays/array_files.h"
#include "millrace/input/catalog.h"

namespace millrace {
namespace {

class NpyReader final : public ArrayFiles {
 public:
  using Options = ArrayFilesOptions;
  static constexpr std::string_view kDoc = "reads files of NumPy, an array for each field";
  static constexpr std::string_view kExample = "fields: {features: \"x-*.npy\", label: \"y-*.npy\"}, epochs: 2";

  explicit NpyReader(const Options& options) : ArrayFiles(options, read_npy_header) {}
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(npy_reader, NpyReader);
