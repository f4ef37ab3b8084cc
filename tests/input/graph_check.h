// GraphCheck: what a list of ops gives, as lines of text: the same for every number of threads and from every saved
// state on.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/input/op_testing.h"

namespace millrace::testing_support {

using Lines = std::vector<std::string>;

class GraphCheck {
 public:
  // `list` is YAML.
  GraphCheck(MemoryFiles& files, const std::string& list, uint64_t seed = 23)
      : files_(files), list_(parse_yaml(list, "input.yaml")), seed_(seed) {}

  InputGraph graph() const { return InputGraph::build(list_, builtin_ops(), {.seed = seed_, .files = &files_}); }

  // "a.csv:1 x=1,2" for every row, "--" behind every batch but the last, "error a.csv:4:1: what; hint" at the end; at
  // most `most` batches.
  Lines run(int most = 1 << 20) const { return run(nullptr, most); }
  Lines run(Executor* executor, int most = 1 << 20) const {
    Pipeline pipeline(graph(), {.executor = executor});
    Lines lines;
    RowBlock slot = pipeline.make_slot();
    for (int batch = 0; batch < most && add_batch(pipeline, slot, lines); ++batch) {
    }
    return lines;
  }

  // The same, and also with 1, 2, 3 and 8 threads, and from the state behind every batch.
  Lines check(int most = 1 << 20) const {
    const Lines expected = run(most);
    for (const int threads : {1, 2, 3, 8}) {
      Executor executor(threads);
      Pipeline pipeline(graph(), {.executor = &executor});
      RowBlock slot = pipeline.make_slot();
      Lines lines;
      State state;
      for (int batch = 0; batch < most; ++batch) {
        if (threads == 3 && batch > 0 && lines.back() != "error") {
          pipeline.save(state);
          EXPECT_EQ(state, pipeline.save()) << "a state before it is still there";
          check_rest(state, expected, lines, most - batch);
        }
        if (!add_batch(pipeline, slot, lines)) break;
      }
      EXPECT_EQ(lines, expected) << threads << " threads";
    }
    return expected;
  }

  // By cause: "skip 3".
  Lines dropped() const {
    Pipeline pipeline(graph(), {});
    RowBlock slot = pipeline.make_slot();
    while (pipeline.next(slot) > 0) {
    }
    Lines out;
    for (const Dropped& one : pipeline.summary().dropped) out.push_back(cat(one.cause, ' ', one.rows));
    return out;
  }

 private:
  static bool add_batch(Pipeline& pipeline, RowBlock& slot, Lines& lines) {
    try {
      if (pipeline.next(slot) == 0) return false;
    } catch (const Error& error) {
      lines.push_back(cat("error ", error.what()));
      return false;
    }
    if (!lines.empty()) lines.emplace_back("--");
    for (int64_t row = 0; row < slot.size(); ++row) {
      lines.push_back(cat(pipeline.place(slot.id(row)).text(), ' ', row_text(slot, row)));
    }
    return true;
  }

  void check_rest(const State& state, const Lines& expected, Lines lines, int most) const {
    Executor executor(2);
    Pipeline pipeline(graph(), {.executor = &executor});
    pipeline.restore(State::decode(state.encode()));
    RowBlock slot = pipeline.make_slot();
    const size_t before = lines.size();
    for (int batch = 0; batch < most && add_batch(pipeline, slot, lines); ++batch) {
    }
    EXPECT_EQ(lines, expected) << "restored behind " << before << " lines";
  }

  MemoryFiles& files_;
  Spec list_;
  uint64_t seed_;
};

// Files a.csv and b.csv of lines "1,0.5", "2,1" and so on: x counts from 1 in a.csv, from 101 in b.csv; y is x / 2.
inline void add_counting_files(MemoryFiles& files, int rows_of_a, int rows_of_b) {
  for (const auto& [path, first, rows] : {std::tuple("a.csv", 1, rows_of_a), std::tuple("b.csv", 101, rows_of_b)}) {
    std::string& text = files.files[path];
    for (int x = first; x < first + rows; ++x) text += cat(x, ',', static_cast<double>(x) / 2, '\n');
  }
}

// The ops that read file `path`, once or as `epochs` says, under names that begin with `name`.
inline std::string reading(const std::string& path, const std::string& name = "a",
                           const std::string& epochs = ", epochs: 1") {
  return cat("- filename_queue: {name: ", name, "_files, files: ", path, ", shuffle: false", epochs, "}\n",
             "- csv_reader: {name: ", name, "_reader, chunk_bytes: 7}\n", "- decode_csv: {name: ", name,
             ", fields: {x: {columns: 0, type: int32}, y: {columns: 1}}}\n");
}

}  // namespace millrace::testing_support
