// Any bytes as a file of arrays (npy, IDX, npz): an error says what is wrong with it, or its rows come, the same in
// chunks of every size. Memory follows what the file has, and not what it says.
//
// An input is a byte that chooses the format, then the file.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::MemoryFiles;
using testing_support::row_text;

constexpr const char* kSources[] = {
    "[{npy_reader: {fields: {x: a}, epochs: 1, chunk_bytes: ",
    "[{idx_reader: {fields: {x: a}, epochs: 1, chunk_bytes: ",
    "[{filename_queue: {files: a, epochs: 1}}, {npz_reader: {fields: {x: x, y: y}, chunk_bytes: "};
// A row of one byte takes 64 and its id, in several blocks that grow by doubling; the rest does not depend on the file.
constexpr uint64_t kBytesForAByte = 2000, kBytesAlways = 100000;

[[noreturn]] void report(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

std::vector<std::string> rows_of(const char* source, int chunk_bytes, MemoryFiles& files) {
  const Spec list = parse_yaml(cat(source, chunk_bytes, "}}, {batch: {batch_size: 1}}]"), "list");
  InputGraph graph = InputGraph::build(list, builtin_ops(), {.files = &files});
  const uint64_t size = files.files["a"].size(), bound = graph.memory_bound(1);
  if (bound > kBytesForAByte * size + kBytesAlways) report(cat(bound, " bytes for a file of ", size));
  Pipeline pipeline(std::move(graph), {});
  RowBlock row = pipeline.make_slot();
  std::vector<std::string> out;
  while (pipeline.next(row) > 0) out.push_back(cat(pipeline.place(row.id(0)).text(), ' ', row_text(row, 0)));
  if (out.empty() || out.size() > size) report(cat(out.size(), " rows in ", size, " bytes"));
  return out;
}

}  // namespace
}  // namespace millrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millrace;
  if (size == 0) return 0;
  const char* const source = kSources[data[0] % std::size(kSources)];
  MemoryFiles files;
  files.files["a"] = std::string(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<std::string> rows;
  try {
    rows = rows_of(source, 262144, files);
  } catch (const DataError& error) {
    if (error.place().file != "a") report(cat("an error without its file: ", error.what()));
    return 0;
  }
  for (const int chunk_bytes : {1, 20}) {
    if (rows_of(source, chunk_bytes, files) != rows) report(cat("other rows in chunks of ", chunk_bytes, " bytes"));
  }
  return 0;
}
