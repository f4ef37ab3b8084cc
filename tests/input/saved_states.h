// Graphs whose saved states are changed on purpose.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/core/state_bytes.h"
#include "tests/input/op_testing.h"

namespace millrace::testing_support {

// Files in memory and lists of ops that read them, with every op, stream and source that saves something.
class SavedGraphs {
 public:
  SavedGraphs() {
    for (int x = 0; x < 40; ++x) {
      files_.files["a.csv"] += x % 9 == 4 ? "none,bad\n" : cat(x, ",\"", x % 5 == 1 ? "two\nlines" : "text", "\"\n");
      if (x < 7) files_.files["b.csv"] += cat(100 + x, ",b\n");
    }
    RowBlock rows;
    rows.configure({{{"x", DType::i32, Shape{1}}}}, 13);
    rows.resize(13);
    for (int x = 0; x < 13; ++x) *rows.row<int32_t>(0, x) = x;
    ops_.add("memory", memory_op(std::make_shared<const RowBlock>(std::move(rows))));
    const std::string batches = "- batch: {batch_size: 4, allow_smaller_final_batch: true}\n";
    const std::string shuffled = "- shuffle_batch: {batch_size: 3, min_after_dequeue: 4}\n";
    const std::string filter = "- filter: {field: x, op: '!=', value: 5}\n";
    add(cat(reading("a", "files: '*.csv', epochs: 2", "chunk_bytes: 29"), "- skip: {rows: 3}\n- take: {rows: 30}\n",
            shuffled));
    add(cat(reading("a", "files: '*.csv', shuffle: false", "chunk_bytes: 29, readers: 2"), filter,
            "- print: {every: 5}\n", batches));
    add(cat(reading("a", "files: a.csv, epochs: 1", "chunk_bytes: 40"),
            reading("b", "files: b.csv, epochs: 1", "chunk_bytes: 40"), "- interleave: {from: [a, b]}\n", filter,
            "- cache\n- repeat: {epochs: 2}\n- filter: {field: x, op: '<', value: 104}\n", shuffled));
    add(cat(reading("a", "files: a.csv", "chunk_bytes: 40"), reading("b", "files: b.csv", "chunk_bytes: 40"),
            "- mix: {from: [a, b], weights: [1, 3]}\n- map: {field: x, scale: 2}\n", batches, filter));
    add(cat("- synthetic: {features: 3, rows: 20}\n- repeat\n- skip: {rows: 2}\n", shuffled));
    add(cat("- memory: {epochs: 3}\n- cache: {name: kept}\n- repeat: {epochs: 3}\n", filter, shuffled));
  }

  size_t size() const { return lists_.size(); }

  std::unique_ptr<Pipeline> pipeline(size_t graph) {
    return std::make_unique<Pipeline>(InputGraph::build(lists_[graph], ops_, {.seed = 23, .files = &files_}),
                                      PipelineOptions{});
  }

  // The state of the graph after `batches` batches, without its checksum.
  std::string state(size_t graph, int batches) {
    const std::unique_ptr<Pipeline> run = pipeline(graph);
    RowBlock slot = run->make_slot();
    while (batches-- > 0 && run->next(slot) > 0) {
    }
    return without_checksum(run->save().encode());
  }

  // Goes on from the state for up to `batches` batches. "went on"; "refused"; or an error that no state may lead to.
  std::string go_on(size_t graph, const std::string& body, int batches) {
    try {
      const std::unique_ptr<Pipeline> run = pipeline(graph);
      run->restore(State::decode(with_checksum(body)));
      RowBlock slot = run->make_slot();
      while (batches-- > 0 && run->next(slot) > 0) {
      }
      State::decode(run->save().encode());
    } catch (const DataError&) {
      return "refused";
    } catch (const ConfigError&) {
      return "refused";
    } catch (const std::exception& error) {
      return error.what();
    }
    return "went on";
  }

 private:
  static std::string reading(const std::string& name, const std::string& queue, const std::string& reader) {
    return cat("- filename_queue: {name: ", name, "_files, ", queue, "}\n- csv_reader: {name: ", name, "_reader, ",
               reader, "}\n- decode_csv: {name: ", name,
               ", on_bad_row: skip, fields: {x: {columns: 0, type: int32}, s: {columns: 1, type: string}}}\n");
  }
  void add(const std::string& list) { lists_.push_back(parse_yaml(list, "input.yaml")); }

  MemoryFiles files_;
  OpRegistry ops_ = builtin_ops();
  std::vector<Spec> lists_;
};

}  // namespace millrace::testing_support
