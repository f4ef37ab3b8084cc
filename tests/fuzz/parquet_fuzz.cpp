// Any bytes as a Parquet file: an error says what is wrong with it, or its rows come, the same in chunks of every size.
// Memory follows what the file has, and not what it says.
//
// An input is a byte that chooses the fields, then the file.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::MemoryFiles;
using testing_support::row_text;

// The column, the options of its field, and those of the op.
constexpr const char* kColumns[] = {"0", "1", "[0, 1]", "2"};
constexpr const char* kFields[] = {", type: float64, default: 1",
                                   ", type: int32",
                                   ", type: string, default: d",
                                   ", type: timestamp, as: int64, default: 1970-01-02",
                                   ", type: uint8, reshape: [2], default: 3",
                                   ", missing: [nan, '0'], default: 9",
                                   ", type: date",
                                   ", type: string, missing: [a]"};
constexpr const char* kOptions[] = {"", ", on_bad_row: skip"};
// A few bytes may stand for many rows.
constexpr size_t kMostRows = 500;

[[noreturn]] void report(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

// The first rows and, if there are no more, the error after them.
std::vector<std::string> rows_of(uint8_t choice, int chunk_bytes, MemoryFiles& files) {
  const std::string fields = cat("{columns: ", kColumns[choice % 4], kFields[choice / 4 % 8], '}');
  const std::string list =
      cat("[{filename_queue: {files: a, epochs: 1}}, {parquet_reader: {fields: {x: ", fields, "}",
          kOptions[choice / 32 % 2], ", chunk_bytes: ", chunk_bytes, "}}, {batch: {batch_size: 1}}]");
  std::vector<std::string> out;
  try {
    Pipeline pipeline(InputGraph::build(parse_yaml(list, "list"), builtin_ops(), {.files = &files}), {});
    RowBlock row = pipeline.make_slot();
    while (out.size() < kMostRows && pipeline.next(row) > 0) {
      out.push_back(cat(pipeline.place(row.id(0)).text(), ' ', row_text(row, 0)));
    }
  } catch (const ConfigError& error) {
    out.emplace_back(error.what());
  } catch (const DataError& error) {
    if (!error.place().file.starts_with("a")) report(cat("an error without its file: ", error.what()));
    out.push_back(error.place().text());
  }
  return out;
}

}  // namespace
}  // namespace millrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millrace;
  if (size == 0) return 0;
  MemoryFiles files;
  files.files["a"] = std::string(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::vector<std::string> rows = rows_of(data[0], 1 << 20, files);
  for (const int chunk_bytes : {1, 200}) {
    if (rows_of(data[0], chunk_bytes, files) != rows) report(cat("other rows in chunks of ", chunk_bytes, " bytes"));
  }
  return 0;
}
