// Any bytes as a database of LMDB: an error says what is wrong with it, or its rows come, the same in chunks of every
// size. Memory follows what the file has, and not what it says.
//
// An input is a byte that chooses the fields, then the file, in which a zero and a byte n stand for n zeros.
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

constexpr const char* kFields[] = {"{x: {type: string}}", "{x: {type: npy}}",
                                   "{x: {type: uint8, size: 2, offset: 1}, y: {type: string, offset: 0}}",
                                   "{x: {db: x, type: uint8}, y: {db: y, type: int16}}"};
// A row of one byte takes 64 and its id, in several blocks that grow by doubling; a page of the file has 64 KiB at
// most.
constexpr uint64_t kBytesForAByte = 2000, kBytesAlways = 4000000;

[[noreturn]] void report(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

std::vector<std::string> rows_of(size_t fields, int chunk_bytes, MemoryFiles& files) {
  const Spec list = parse_yaml(cat("[{lmdb_reader: {path: a, epochs: 1, fields: ", kFields[fields],
                                   ", chunk_bytes: ", chunk_bytes, "}}, {batch: {batch_size: 1}}]"),
                               "list");
  InputGraph graph = InputGraph::build(list, builtin_ops(), {.files = &files});
  const uint64_t size = files.files["a"].size(), bound = graph.memory_bound(1);
  if (bound > kBytesForAByte * size + kBytesAlways) report(cat(bound, " bytes for a file of ", size));
  Pipeline pipeline(std::move(graph), {});
  RowBlock row = pipeline.make_slot();
  std::vector<std::string> out;
  try {
    while (pipeline.next(row) > 0) out.push_back(cat(pipeline.place(row.id(0)).text(), ' ', row_text(row, 0)));
  } catch (const DataError& error) {
    out.push_back(error.what());
  }
  if (out.empty() || out.size() > size) report(cat(out.size(), " rows in ", size, " bytes"));
  return out;
}

}  // namespace
}  // namespace millrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millrace;
  if (size == 0) return 0;
  const size_t fields = data[0] % std::size(kFields);
  MemoryFiles files;
  std::string& file = files.files["a"];
  for (size_t i = 1; i < size; ++i) {
    if (data[i] != 0) {
      file += static_cast<char>(data[i]);
    } else if (++i < size) {
      file.append(data[i], '\0');
    }
  }
  std::vector<std::string> rows;
  try {
    rows = rows_of(fields, 262144, files);
  } catch (const DataError& error) {
    if (!error.place().file.starts_with('a')) report(cat("an error without its file: ", error.what()));
    return 0;
  }
  for (const int chunk_bytes : {1, 20}) {
    if (rows_of(fields, chunk_bytes, files) != rows) report(cat("other rows in chunks of ", chunk_bytes, " bytes"));
  }
  return 0;
}
