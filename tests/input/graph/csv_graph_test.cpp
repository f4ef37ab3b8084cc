// Whole graphs over CSV files: random files, any chunk size and any threads give the same rows, places and errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "millrace/core/random.h"
#include "millrace/input/csv/csv_dialect.h"
#include "millrace/input/graph/pipeline.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::MemoryFiles;
using testing_support::row_text;

// What a batch file holds, row by row: "a.csv:3 x=1 y=2.5".
using Rows = std::vector<std::string>;

std::vector<std::unique_ptr<Executor>> executors() {
  std::vector<std::unique_ptr<Executor>> out(1);
  for (int threads : {1, 2, 3, 8}) out.push_back(std::make_unique<Executor>(threads));
  return out;
}

// Draws numbers below n, one after another.
class Draws {
 public:
  explicit Draws(uint64_t seed) : seed_(seed) {}
  uint64_t below(uint64_t n) { return scale_to(philox64(seed_, 77, index_++), n); }
  bool one_in(uint64_t n) { return below(n) == 0; }

 private:
  uint64_t seed_, index_ = 0;
};

// A field of text with everything that makes CSV hard.
std::string hard_text(Draws& draws, uint64_t& lines) {
  static constexpr const char* kParts[] = {"a", ",", "\n", "\r\n", "\"\"", "1,2,3", "\n\n", "#", " ", "\"\",\"\""};
  std::string out = "\"";
  for (uint64_t parts = draws.below(8); parts > 0; --parts) {
    const std::string part = kParts[draws.below(std::size(kParts))];
    lines += static_cast<uint64_t>(std::count(part.begin(), part.end(), '\n'));
    out += part;
  }
  return out + '"';
}

// Writes a random file and what is in it.
std::string random_csv(uint64_t seed, const std::string& path, int records, Rows& expected) {
  Draws draws(seed);
  std::string out = "x,note,y\n";
  uint64_t line = 2;
  for (int i = 0; i < records; ++i) {
    for (; draws.one_in(6); ++line) out += draws.one_in(2) ? "\n" : "\r\n";
    uint64_t lines = 1;
    const uint64_t x = draws.below(1000000), y = draws.below(100);
    const std::string note = draws.one_in(3) ? std::string("plain") : hard_text(draws, lines);
    expected.push_back(cat(path, ':', line, " x=", x, " y=", static_cast<double>(y) / 4));
    out += cat(x, ',', note, ',', static_cast<double>(y) / 4);
    if (i + 1 < records || draws.one_in(2)) out += draws.one_in(3) ? "\r\n" : "\n";
    line += lines;
  }
  return out;
}

struct CsvSetup {
  Spec queue = Spec::map().set("files", "*.csv").set("shuffle", false).set("epochs", 1);
  Spec reader = Spec::map().set("header", true);
  Spec decode = Spec::map();
  std::string batch_kind = "batch";
  Spec batch = Spec::map().set("batch_size", 7).set("allow_smaller_final_batch", true);

  CsvSetup() {
    decode.set("fields", Spec::map()
                             .set("x", Spec::map().set("columns", "x").set("type", "int64"))
                             .set("y", Spec::map().set("columns", "y")));
  }
  Spec list() const {
    return Spec::list()
        .append(Spec::map().set("filename_queue", queue))
        .append(Spec::map().set("csv_reader", reader))
        .append(Spec::map().set("decode_csv", decode))
        .append(Spec::map().set(batch_kind, batch));
  }
  std::unique_ptr<Pipeline> start(MemoryFiles& files, Executor* executor, std::function<void(const BadRow&)> bad = {}) {
    return std::make_unique<Pipeline>(InputGraph::build(list(), builtin_ops(), {.seed = 23, .files = &files}),
                                      PipelineOptions{executor, std::move(bad), {}, Device::cpu()});
  }
};

// The rows of up to `batches` batches; an error is the last "row", after a mark of how many batches came.
Rows rows_of(Pipeline& pipeline, int64_t batches = INT64_MAX) {
  Rows out;
  RowBlock slot = pipeline.make_slot();
  for (int64_t batch = 0; batch < batches; ++batch) {
    try {
      if (pipeline.next(slot) == 0) return out;
    } catch (const Error& error) {
      out.push_back(cat("after ", batch, ": ", to_string(error.kind()), ": ", error.what()));
      return out;
    }
    for (int64_t row = 0; row < slot.size(); ++row) {
      out.push_back(cat(pipeline.place(slot.id(row)).text(), ' ', row_text(slot, row)));
    }
  }
  return out;
}

TEST(CsvGraph, GivesTheRowsOfTheFilesWhateverTheChunksAndThreads) {
  const auto all = executors();
  for (uint64_t seed = 0; seed < 6; ++seed) {
    MemoryFiles files;
    Rows expected;
    files.files["a.csv"] = random_csv(3 * seed, "a.csv", 40, expected);
    files.files["b.csv"] = "x,note,y\n";
    files.files["c.csv"] = random_csv(3 * seed + 1, "c.csv", 3, expected);
    files.files["d.csv"] = random_csv(3 * seed + 2, "d.csv", 25, expected);
    const auto whole = static_cast<int64_t>(files.files["a.csv"].size());
    for (int64_t chunk_bytes : {int64_t{1}, int64_t{2}, int64_t{7}, int64_t{64}, whole - 1, whole, 2 * whole}) {
      CsvSetup setup;
      setup.reader.set("chunk_bytes", chunk_bytes);
      setup.batch.set("threads", 8);
      for (const auto& executor : all) {
        const auto pipeline = setup.start(files, executor.get());
        ASSERT_EQ(rows_of(*pipeline), expected) << seed << ' ' << chunk_bytes;
        uint64_t bytes = 0;
        for (const auto& [path, text] : files.files) bytes += text.size();
        EXPECT_EQ(pipeline->summary().bytes, bytes);
      }
    }
  }
}

CsvSetup shuffled(int64_t chunk_bytes, int64_t capacity, int64_t threads) {
  CsvSetup setup;
  setup.queue.set("shuffle", true).set("epochs", 3);
  setup.reader.set("chunk_bytes", chunk_bytes);
  setup.batch_kind = "shuffle_batch";
  setup.batch.set("capacity", capacity).set("min_after_dequeue", 15).set("threads", threads);
  return setup;
}

MemoryFiles& random_files(MemoryFiles& files, Rows& expected) {
  for (int i = 0; i < 5; ++i) {
    const std::string path = cat("part-", i, ".csv");
    files.files[path] = random_csv(static_cast<uint64_t>(50 + i), path, 4 + 9 * i, expected);
  }
  return files;
}

TEST(CsvGraph, GivesEveryRowOnceAnEpoch) {
  MemoryFiles files;
  Rows expected;
  random_files(files, expected);
  for (const auto& executor : executors()) {
    std::map<std::string, int> times;
    for (const std::string& row : rows_of(*shuffled(50, 100, 4).start(files, executor.get()))) ++times[row];
    EXPECT_EQ(times.size(), expected.size());
    for (const std::string& row : expected) EXPECT_EQ(times[row], 3) << row;
  }
}

TEST(CsvGraph, ShufflesTheSameWhateverTheChunksRoomAndThreads) {
  MemoryFiles files;
  Rows unused;
  random_files(files, unused);
  const Rows expected = rows_of(*shuffled(262144, 22, 1).start(files, nullptr));
  EXPECT_FALSE(std::is_sorted(expected.begin(), expected.end()));
  for (const auto& executor : executors()) {
    for (int64_t chunk_bytes : {5, 40, 1000}) {
      for (int64_t capacity : {22, 60, 5000}) {
        EXPECT_EQ(rows_of(*shuffled(chunk_bytes, capacity, 3).start(files, executor.get())), expected);
      }
    }
  }
}

TEST(CsvGraph, GoesOnFromEveryBatchOnOtherThreadsAndChunks) {
  MemoryFiles files;
  Rows unused;
  random_files(files, unused);
  const auto all = executors();
  const auto whole = shuffled(100, 50, 2).start(files, nullptr);
  const Rows expected = rows_of(*whole);
  const int64_t batches = static_cast<int64_t>(whole->summary().batches);
  for (int64_t k = 0; k <= batches; ++k) {
    const auto index = static_cast<size_t>(k);
    const auto first = shuffled(20 + k, 50, 2).start(files, all[index % 5].get());
    Rows got = rows_of(*first, k);
    const State state = State::decode(first->save().encode());
    const auto second = shuffled(90 - k, 30 + k, 3).start(files, all[(index + 2) % 5].get());
    second->restore(state);
    const Rows rest = rows_of(*second);
    got.insert(got.end(), rest.begin(), rest.end());
    EXPECT_EQ(got, expected) << k;
    EXPECT_EQ(second->summary().rows, whole->summary().rows);
    EXPECT_EQ(second->summary().bytes, whole->summary().bytes);
  }
}

// 0 to 99 in x, one a line, some of them spoilt.
std::string numbered(const std::map<int, std::string>& spoilt, int records = 100) {
  std::string out = "x,note,y\n";
  for (int i = 0; i < records; ++i) {
    const auto found = spoilt.find(i);
    out += found != spoilt.end() ? found->second : cat(i, ",n,", i, '\n');
  }
  return out;
}

// Bad rows behind the last good one are met once: before the save or after the restore, never both and never not at
// all.
TEST(CsvGraph, CountsBadRowsAtTheEndAcrossASave) {
  MemoryFiles files;
  files.files["a.csv"] = numbered({{10, "q,n,0\n"}, {11, "q,n,0\n"}, {12, "q,n,0\n"}}, 13);
  for (const char* kind : {"batch", "shuffle_batch"}) {
    for (int64_t k = 0; k <= 4; ++k) {
      CsvSetup setup;
      setup.decode.set("on_bad_row", "skip");
      setup.batch_kind = kind;
      setup.batch = Spec::map().set("batch_size", 4).set("allow_smaller_final_batch", true);
      if (setup.batch_kind == "shuffle_batch") setup.batch.set("capacity", 20).set("min_after_dequeue", 6);
      int told = 0;
      const auto count = [&](const BadRow&) { ++told; };
      const auto first = setup.start(files, nullptr, count);
      rows_of(*first, k);
      const auto second = setup.start(files, nullptr, count);
      second->restore(first->save());
      rows_of(*second);
      EXPECT_EQ(second->summary().bad_rows, 3u) << kind << ' ' << k;
      EXPECT_EQ(second->summary().rows, 10u);
      EXPECT_GE(told, 3);
    }
  }
}

TEST(CsvGraph, AChangedFileRefusesTheState) {
  MemoryFiles files;
  Rows unused;
  random_files(files, unused);
  const auto first = shuffled(100, 50, 2).start(files, nullptr);
  rows_of(*first, 3);
  const State state = first->save();
  files.files["part-2.csv"] += "1,plain,2\n";
  EXPECT_THROW(shuffled(100, 50, 2).start(files, nullptr)->restore(state), DataError);
}

TEST(CsvGraph, RaisesTheFirstErrorAfterTheSameBatches) {
  struct Case {
    std::string text, error;
  };
  const Case cases[] = {
      {numbered({{40, "abc,n,1\n"}}), "after 5: data: a.csv:42:1: "},
      {numbered({{41, "1,n\n"}, {43, "x,n,1\n"}}), "after 5: data: a.csv:43:1: "},
      {numbered({{10, "1,\"n\n\n\",1\n"}, {20, "1,n,1,1\n"}}), "after 2: data: a.csv:24:1: "},
      {numbered({{70, "1,\"n,1\n"}}), "after 10: data: a.csv:72"},
  };
  for (const Case& one : cases) {
    MemoryFiles files;
    files.files["a.csv"] = one.text;
    Rows first;
    for (const auto& executor : executors()) {
      for (int64_t chunk_bytes : {1, 30, 100000}) {
        CsvSetup setup;
        setup.reader.set("chunk_bytes", chunk_bytes);
        setup.batch.set("capacity", 200).set("threads", 4);
        const auto pipeline = setup.start(files, executor.get());
        const Rows rows = rows_of(*pipeline);
        if (first.empty()) first = rows;
        EXPECT_EQ(rows, first);
        EXPECT_EQ(rows.back().substr(0, one.error.size()), one.error);
        const Rows again = rows_of(*pipeline);
        ASSERT_EQ(again.size(), 1u);
        EXPECT_EQ(again[0].substr(again[0].find(':')), rows.back().substr(rows.back().find(':')));
      }
    }
  }
}

TEST(CsvGraph, LeavesOutBadRowsExactly) {
  MemoryFiles files;
  files.files["a.csv"] = numbered({{0, "q,n,0\n"}, {9, "9,n\n"}, {50, "50,\"n\"x,1\n"}, {99, "99,n,y\n"}});
  Rows first_told, first_rows;
  for (const auto& executor : executors()) {
    for (int64_t chunk_bytes : {1, 30, 100000}) {
      for (int64_t limit : {-1, 3, 4}) {
        CsvSetup setup;
        setup.reader.set("chunk_bytes", chunk_bytes);
        setup.decode.set("on_bad_row", "skip");
        if (limit >= 0) setup.decode.set("max_bad_rows", limit);
        Rows told;
        const auto pipeline =
            setup.start(files, executor.get(), [&](const BadRow& bad) { told.push_back(bad.place.text()); });
        Rows rows = rows_of(*pipeline);
        EXPECT_EQ(told, (Rows{"a.csv:2:1", "a.csv:11:1", "a.csv:52:4", "a.csv:101:6"})) << chunk_bytes;
        EXPECT_EQ(pipeline->summary().bad_rows, 4u);
        if (limit == 3) {
          EXPECT_NE(rows.back().find("after 13: data: a.csv:101:6: "), std::string::npos) << rows.back();
          EXPECT_NE(rows.back().find("(bad row 4 of the run; max_bad_rows is 3)"), std::string::npos) << rows.back();
          EXPECT_EQ(rows.size(), 13u * 7 + 1);
        } else {
          EXPECT_EQ(rows.size(), 96u);
        }
      }
    }
  }
}

TEST(CsvGraph, ALaterHeaderThatDiffersComesBehindTheRowsBeforeIt) {
  MemoryFiles files;
  files.files["a.csv"] = numbered({}, 20);
  files.files["b.csv"] = "x,y,note\n1,2,3\n";
  for (const auto& executor : executors()) {
    for (int64_t chunk_bytes : {1, 9, 100000}) {
      CsvSetup setup;
      setup.reader.set("chunk_bytes", chunk_bytes);
      const Rows rows = rows_of(*setup.start(files, executor.get()));
      EXPECT_EQ(rows.size(), 15u);
      EXPECT_EQ(rows.back().rfind("after 2: data: b.csv:1", 0), 0u) << rows.back();
    }
  }
}

TEST(CsvGraph, AFileThatShrankOrBreaksIsAnIoError) {
  for (const auto& executor : executors()) {
    MemoryFiles files;
    files.files["a.csv"] = numbered({}, 20);
    files.files["b.csv"] = numbered({}, 20);
    CsvSetup setup;
    setup.reader.set("chunk_bytes", 30);
    const auto shrinking = setup.start(files, executor.get());
    files.files_at_open["b.csv"] = files.files["b.csv"].substr(0, 60);
    const Rows rows = rows_of(*shrinking);
    EXPECT_NE(rows.back().find("io: b.csv"), std::string::npos) << rows.back();
    EXPECT_GE(rows.size(), 14u);

    const auto breaking = setup.start(files, executor.get());
    files.broken.insert("b.csv");
    const Rows until = rows_of(*breaking);
    EXPECT_NE(until.back().find("io: b.csv: cannot read the file: Input/output error"), std::string::npos)
        << until.back();
    files.broken.clear();
  }
}

TEST(CsvGraph, AFileThatGrewIsReadToItsOldSizeWithAWarning) {
  for (const auto& executor : executors()) {
    MemoryFiles files;
    files.files["a.csv"] = numbered({}, 20);
    CsvSetup setup;
    setup.queue.set("epochs", 2);
    setup.reader.set("chunk_bytes", 30);
    std::vector<std::string> printed;
    Pipeline pipeline(InputGraph::build(setup.list(), builtin_ops(), {.seed = 23, .files = &files}),
                      {executor.get(), {}, [&](std::string_view text) { printed.emplace_back(text); }, Device::cpu()});
    files.files_at_open["a.csv"] = files.files["a.csv"] + "20,n,20\n";
    EXPECT_EQ(rows_of(pipeline).size(), 40u);
    const std::string warning =
        cat("warning: a.csv: the file has grown since the run began, from ", files.files["a.csv"].size(), " to ",
            files.files_at_open["a.csv"].size(), " bytes; what was added is not read");
    EXPECT_EQ(printed, (Rows{warning, warning})) << "once a pass";
  }
}

// Lines of rubbish make notes, which take memory, too.
TEST(CsvGraph, BoundsTheMemoryOfBadRows) {
  MemoryFiles files;
  files.files["a.csv"] = numbered({}, 10);
  CsvSetup setup;
  const auto bound = [&] {
    return InputGraph::build(setup.list(), builtin_ops(), {.seed = 23, .files = &files}).memory_bound(2);
  };
  setup.reader.set("chunk_bytes", 100000);
  const auto notes = [&] {
    setup.decode.set("on_bad_row", "fail");
    const uint64_t without = bound();
    setup.decode.set("on_bad_row", "skip");
    return bound() - without;
  };
  EXPECT_LT(notes(), 1u << 20) << "a small file cannot have many";
  files.files["a.csv"] = numbered({}, 20000);
  EXPECT_GE(notes(), 50000 * (sizeof(Note) + 100) * 4) << "two bytes a line, in every chunk that may exist";
}

// The seeds' experiment: 20 files of 100 rows, twice, in batches of 23.
TEST(CsvGraph, CountsTheStepsOfTheExperiment) {
  MemoryFiles files;
  for (int i = 0; i < 20; ++i) files.files[cat("examples-", i, ".csv")] = numbered({});
  CsvSetup setup;
  setup.queue = Spec::map().set("files", "examples-*.csv").set("epochs", 2);
  setup.batch_kind = "shuffle_batch";
  setup.batch = Spec::map()
                    .set("batch_size", 23)
                    .set("capacity", 79)
                    .set("min_after_dequeue", 10)
                    .set("threads", 2)
                    .set("allow_smaller_final_batch", true);
  Executor executor(2);
  const auto pipeline = setup.start(files, &executor);
  RowBlock slot = pipeline->make_slot();
  int64_t last = 0;
  while (const int64_t rows = pipeline->next(slot)) last = rows;
  EXPECT_EQ(last, 21);
  const InputSummary summary = pipeline->summary();
  EXPECT_EQ(summary.batches, 174u);
  EXPECT_EQ(summary.rows, 4000u);
  EXPECT_EQ(summary.passes, 2u);
}

TEST(CsvGraph, ShowsTheOpBetweenTwoThatDoNotFit) {
  MemoryFiles files;
  files.files["a.csv"] = numbered({});
  const CsvSetup setup;
  Spec list = Spec::list();
  list.set_path("input");
  list.append(Spec::map().set("filename_queue", setup.queue)).append(Spec::map().set("decode_csv", setup.decode));
  try {
    InputGraph::build(list, builtin_ops(), {.seed = 0, .files = &files});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.message(), "input[1]: decode_csv expects text, but filename_queue gives names");
    EXPECT_EQ(error.hint(), "put csv_reader between them");
  }
}

TEST(CsvGraph, BuildsItsResolvedListAgain) {
  MemoryFiles files;
  Rows unused;
  random_files(files, unused);
  CsvSetup setup = shuffled(100, 50, 2);
  const InputGraph graph = InputGraph::build(setup.list(), builtin_ops(), {.seed = 23, .files = &files});
  Pipeline again(InputGraph::build(graph.resolved(), builtin_ops(), {.seed = 23, .files = &files}), {});
  EXPECT_EQ(rows_of(again), rows_of(*setup.start(files, nullptr)));
}

TEST(CsvGraph, NamesItsFilesAndColumns) {
  MemoryFiles files;
  files.files = {{"d/b.csv", "b\n1;5\n"}, {"d/a.csv", "a\n2;6\n"}};
  Spec input = Spec::list();
  input.append(Spec::map().set("filename_queue", Spec::map().set("files", "d/*.csv")));
  input.append(Spec::map().set("csv_reader", Spec::map().set("delimiter", ";").set("skip_lines", 1)));
  Spec fields = Spec::map().set("x", Spec::map().set("columns", 1)).set("y", Spec::map().set("columns", "1-1"));
  Spec decode = Spec::map().set("fields", fields).set("on_bad_row", "skip").set("bad_rows_file", "bad.jsonl");
  input.append(Spec::map().set("decode_csv", decode));
  input.append(Spec::map().set("batch", Spec::map().set("batch_size", 1)));
  const InputGraph graph = InputGraph::build(input, builtin_ops(), {.seed = 1, .files = &files});
  EXPECT_EQ(graph.files().read, (std::vector<std::string>{"d/a.csv", "d/b.csv"}));
  EXPECT_EQ(graph.files().written, std::vector<std::string>{"bad.jsonl"});
  ASSERT_NE(graph.text_columns(), nullptr);
  const auto* dialect = dynamic_cast<const CsvDialect*>(graph.text_columns()->format.get());
  ASSERT_NE(dialect, nullptr);
  EXPECT_EQ(dialect->delimiter, ';');
  EXPECT_EQ(dialect->skip_lines, 1);
  EXPECT_EQ(graph.text_columns()->rows, graph.output().rows);
  EXPECT_EQ(graph.text_columns()->columns, (std::vector<std::vector<uint32_t>>{{1}, {1}}));
}

}  // namespace
}  // namespace millrace
