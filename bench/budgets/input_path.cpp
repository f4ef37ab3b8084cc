#include "bench/budgets/input_path.h"

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/files/yaml.h"

namespace millrace::bench {

std::string input_yaml(const InputPath& path) {
  return cat("input:\n  - filename_queue: {files: \"", path.files, "\", shuffle: false",
             path.epochs == 0 ? "" : cat(", epochs: ", path.epochs), "}\n  - csv_reader",
             path.chunk_bytes == 0 ? "" : cat(": {chunk_bytes: ", path.chunk_bytes, "}"),
             "\n  - decode_csv: {fields: {features: {columns: 0-1023}, label: {columns: 1024}}}\n"
             "  - shuffle_batch: {batch_size: ",
             kBatch, ", capacity: 1024, min_after_dequeue: 512, threads: ", path.threads, "}\n");
}

Spec input_list(const InputPath& path) { return *parse_yaml(input_yaml(path), "bench").find("input"); }

int64_t read_all(Executor& executor, const Spec& list, FileSystem* files) {
  Pipeline pipeline(InputGraph::build(list, builtin_ops(), {.seed = 23, .files = files}), {.executor = &executor});
  RowBlock batch = pipeline.make_slot();
  int64_t rows = 0;
  while (const int64_t more = pipeline.next(batch)) rows += more;
  return rows;
}

}  // namespace millrace::bench
