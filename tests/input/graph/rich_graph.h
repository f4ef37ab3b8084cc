// A graph of everything that reads ahead, waits or holds rows, over files in memory, and what a run of it gives.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "millrace/core/threads/executor.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/input/op_testing.h"

namespace millrace::testing_support {

// No executor, and those of 1, 2 and 8 threads.
inline const std::vector<Executor*>& executors_of_all_sizes() {
  static Executor one(1), two(2), eight(8);
  static const std::vector<Executor*> all = {nullptr, &one, &two, &eight};
  return all;
}

inline int threads_of(const Executor* executor) { return executor == nullptr ? 0 : executor->threads(); }

// Records k,s from `first` on; some texts hold a line end, one record is bad.
inline std::string rich_text(int first, int records) {
  std::string out = "k,s\n";
  for (int k = first; k < first + records; ++k) {
    out += k % 5 == 1 ? cat(k, ",\"two\nlines\"\n") : k % 17 == 3 ? "none,bad\n" : cat(k, ",text\n");
  }
  return out;
}

// Five files; or all of it as standard input, in pieces.
inline void add_rich_files(MemoryFiles& files) {
  for (const auto& [path, first, records] : {std::tuple("a0.csv", 0, 20),
                                             {"a1.csv", 100, 7},
                                             {"a2.csv", 200, 13},
                                             {"b0.csv", 300, 16},
                                             {"b1.csv", 400, 5}}) {
    files.files[path] = rich_text(first, records);
  }
}
inline void add_rich_stream(MemoryFiles& files) {
  const std::string text = rich_text(0, 30);
  std::vector<std::string>& pieces = files.streams["-"];
  for (size_t at = 0; at < text.size(); at += 13) pieces.push_back(text.substr(at, 13));
}

inline std::string rich_reading(const std::string& name, const std::string& queue, const std::string& reader) {
  return cat("- filename_queue: {name: ", name, "_files, ", queue, "}\n- csv_reader: {name: ", name,
             "_reader, header: true, ", reader, "}\n- decode_csv: {name: ", name,
             ", on_bad_row: skip, fields: {k: {columns: k, type: int32}, s: {columns: s, type: string}}}\n");
}
inline const char* rich_end() {
  return "- cache\n- repeat: {epochs: 2}\n"
         "- shuffle_batch: {batch_size: 4, capacity: 30, min_after_dequeue: 6, threads: 3, "
         "allow_smaller_final_batch: true}\n";
}

// REQUIRES: add_rich_files().
inline Spec rich_graph() {
  return parse_yaml(cat(rich_reading("a", "files: 'a?.csv', epochs: 2", "readers: 2, chunk_bytes: 29"),
                        "- filter: {name: kept, field: k, op: '!=', value: 4}\n",
                        rich_reading("b", "files: 'b?.csv', epochs: 1", "chunk_bytes: 40"),
                        "- interleave: {from: [kept, b]}\n", rich_end()),
                    "input.yaml");
}
// REQUIRES: add_rich_stream().
inline Spec rich_stream_graph() {
  return parse_yaml(cat(rich_reading("a", "files: '-'", "chunk_bytes: 29"),
                        "- filter: {name: kept, field: k, op: '!=', value: 4}\n", rich_end()),
                    "input.yaml");
}

inline InputGraph build_graph(const Spec& list, FileSystem& files) {
  return InputGraph::build(list, builtin_ops(), {.seed = 23, .files = &files});
}

// A line for each batch.
using Batches = std::vector<std::string>;

// The next batch; false at the end.
inline bool add_batch(Pipeline& pipeline, RowBlock& slot, Batches& batches) {
  if (pipeline.next(slot) == 0) return false;
  std::string& line = batches.emplace_back();
  for (int64_t row = 0; row < slot.size(); ++row) {
    line += cat(pipeline.place(slot.id(row)).text(), ' ', row_text(slot, row), "; ");
  }
  return true;
}

inline Batches all_batches(const Spec& list, FileSystem& files) {
  Pipeline pipeline(build_graph(list, files), {});
  RowBlock slot = pipeline.make_slot();
  Batches batches;
  while (add_batch(pipeline, slot, batches)) {
  }
  return batches;
}

inline bool begins_with(const Batches& all, const Batches& begin) {
  return begin.size() <= all.size() && std::equal(begin.begin(), begin.end(), all.begin());
}

}  // namespace millrace::testing_support
