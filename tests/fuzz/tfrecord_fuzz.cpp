// Any bytes as a TFRecord file, and as the tf.Examples in one: an error says what is wrong, or the rows come, the same
// in chunks of every size. Memory follows what the file has, and not what it says.
//
// An input is a byte that says what the rest is: an example; a file; or examples for a file, each after a byte with its
// length, which get the right checksums, as nobody finds these by chance.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/input/tfrecord/example_decoder.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/input/op_testing.h"
#include "tests/input/tfrecord/tfrecords.h"

namespace millrace {
namespace {

using testing_support::MemoryFiles;
using testing_support::record_of;
using testing_support::row_text;

constexpr const char* kFields =
    "fields: {x: {size: 2, default: 0}, n: {type: int32, split: ' ', default: []}, t: {type: string, split: ' ', "
    "default: "
    "[]}, u: {type: uint8, size: 3, key: t, default: 7}}";
// A row takes 256 bytes and its id, from 16 of the file, in blocks that grow by doubling; a task may hold two records.
constexpr uint64_t kBytesForAByte = 2000, kBytesAlways = 1000000;

[[noreturn]] void report(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

std::string file_of(std::string_view examples) {
  std::string out;
  while (!examples.empty()) {
    const auto length = static_cast<unsigned char>(examples[0]);
    out += record_of(examples.substr(1, length));
    examples.remove_prefix(std::min<size_t>(examples.size(), length + size_t{1}));
  }
  return out;
}

ExampleField field(std::string_view name, DType dtype, const Shape& shape) {
  return {.spec = {std::string(name), dtype, shape}, .key = std::string(name)};
}

// An example gives the same values whatever was decoded before it, and no more than its bytes can hold.
void decode(std::string_view example) {
  static const ExampleDecoder decoder = [] {
    std::vector<ExampleField> fields = {field("x", DType::f32, Shape{2}), field("y", DType::f64, Shape{1}),
                                        field("n", DType::i32, Shape{1}), field("t", DType::u8, Shape{1}),
                                        field("t", DType::u8, Shape{3})};
    fields[2].spec.split = fields[3].spec.split = ' ';
    fields[3].spec.text = true;
    for (ExampleField& one : fields) {
      one.defaults = {.given = true, .numbers = std::vector<std::byte>(one.spec.tensor().bytes())};
    }
    return ExampleDecoder(std::move(fields));
  }();
  static ExampleDecoder::Features features;
  static RowBlock rows;
  rows.configure(decoder.rows(), 2);
  std::string texts[2];
  for (const int64_t row : {0, 1}) {
    const ExampleFault fault = decoder.decode(example, features, rows, row);
    texts[row] = fault.text.empty() ? row_text(rows, row) : cat(fault.text, fault.hint);
    for (const size_t list : {2u, 3u}) {
      if (rows.varying(list, row).bytes() > 16 * example.size() + 16) report("a list has more than the example");
    }
  }
  if (texts[0] != texts[1]) report(cat(texts[0], " or ", texts[1]));
}

// The rows, and the error after them.
std::vector<std::string> rows_of(const std::string& options, int chunk_bytes, MemoryFiles& files) {
  std::vector<std::string> out;
  try {
    const Spec list = parse_yaml(
        cat("[{filename_queue: {files: a, epochs: 1}}, {tfrecord_reader: {max_record_bytes: 4096, chunk_bytes: ",
            chunk_bytes, "}}, {decode_example: {", options, "}}, {batch: {batch_size: 1}}]"),
        "list");
    InputGraph graph = InputGraph::build(list, builtin_ops(), {.files = &files});
    const uint64_t size = files.files["a"].size(), bound = graph.memory_bound(1);
    if (bound > kBytesForAByte * size + kBytesAlways) report(cat(bound, " bytes for a file of ", size));
    Pipeline pipeline(std::move(graph), {});
    RowBlock row = pipeline.make_slot();
    while (pipeline.next(row) > 0) out.push_back(cat(pipeline.place(row.id(0)).text(), ' ', row_text(row, 0)));
    if (out.size() > size / 16) report(cat(out.size(), " rows in ", size, " bytes"));
    out.push_back(cat(pipeline.summary().bad_rows, " bad"));
  } catch (const DataError& error) {
    if (error.place().file != "a") report(cat("an error without its file: ", error.what()));
    out.push_back(error.what());
  }
  return out;
}

}  // namespace
}  // namespace millrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millrace;
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 4 > 1) {
    decode(rest);
    return 0;
  }
  MemoryFiles files;
  files.files["a"] = data[0] % 4 == 0 ? std::string(rest) : file_of(rest);
  const std::string options = cat(kFields, data[0] % 8 > 3 ? ", on_bad_row: skip" : "");
  const std::vector<std::string> rows = rows_of(options, 262144, files);
  for (const int chunk_bytes : {1, 20}) {
    if (rows_of(options, chunk_bytes, files) != rows) report(cat("other rows in chunks of ", chunk_bytes, " bytes"));
  }
  return 0;
}
