#include "millrace/input/run/reader_stream.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "millrace/core/random.h"
#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::MemoryFiles;

struct GraphText {
  std::string queue = "files: \"*\", shuffle: false, epochs: 1";
  std::string reader = "readers: 2";
  std::string decode = "";
  std::string ops = "";  // behind decode_csv
  int batch_size = 100;

  std::string list(const std::string& more = "") const {
    return cat("- filename_queue: {", queue, "}\n- csv_reader: {", reader, more,
               "}\n- decode_csv: {fields: {x: {columns: 0, type: int32}}", decode, "}\n", ops,
               "- batch: {batch_size: ", batch_size, ", allow_smaller_final_batch: true, capacity: 20, threads: 4}\n");
  }
};

// What a graph gives and tells, in order: the values of rows, "bad a:3" for bad rows, "error .." at the end. In batches
// of one row, so that the two come in turn.
class Story {
 public:
  Story(MemoryFiles& files, const GraphText& setup, Executor* executor = nullptr, const std::string& more = "")
      : pipeline_(std::make_unique<Pipeline>(
            InputGraph::build(parse_yaml(setup.list(more), "input.yaml"), builtin_ops(), {.seed = 23, .files = &files}),
            PipelineOptions{
                executor,
                [this](const BadRow& bad) { lines_.push_back(cat("bad ", bad.place.file, ':', bad.place.line)); },
                [this](std::string_view text) { lines_.emplace_back(text); }, Device::cpu()})) {}

  const Lines& read(int64_t batches = INT64_MAX) {
    RowBlock slot = pipeline_->make_slot();
    try {
      for (; batches > 0 && pipeline_->next(slot) > 0; --batches) {
        for (int64_t row = 0; row < slot.size(); ++row) lines_.push_back(cat(*slot.row<int32_t>(0, row)));
      }
    } catch (const Error& error) {
      lines_.push_back(cat("error ", error.what()));
    }
    return lines_;
  }
  // Bytes, bad rows, and dropped ones by cause.
  std::string counts() const {
    const InputSummary summary = pipeline_->summary();
    std::string out = cat(summary.bytes, " bytes, ", summary.bad_rows, " bad");
    std::map<std::string, uint64_t> dropped;
    for (const Dropped& one : summary.dropped) dropped[one.cause] = one.rows;
    for (const auto& [cause, rows] : dropped) out += cat(", ", cause, ' ', rows);
    return out;
  }
  Pipeline& pipeline() { return *pipeline_; }
  Lines& lines() { return lines_; }

 private:
  Lines lines_;
  std::unique_ptr<Pipeline> pipeline_;
};

// The values of the rows alone, "--" between batches left out.
Lines values(const Lines& lines) {
  Lines out;
  for (const std::string& line : lines) {
    if (line == "--") continue;
    const size_t at = line.find(" x=");
    out.push_back(at == std::string::npos ? line : line.substr(at + 3));
  }
  return out;
}

Lines words(const std::string& text) {
  Lines out(1);
  for (const char c : text) {
    if (c == ' ') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

class ReaderStreamTest : public ::testing::Test {
 protected:
  // The rows, for all threads and chunks of several sizes, from every saved state on.
  Lines check(const GraphText& setup) {
    const Lines expected = values(GraphCheck(files_, setup.list()).run());
    for (const int chunk_bytes : {1, 2, 5, 1000}) {
      EXPECT_EQ(values(GraphCheck(files_, setup.list(cat(", chunk_bytes: ", chunk_bytes))).check()), expected)
          << chunk_bytes;
    }
    return expected;
  }
  Lines check_readers(int readers, GraphText setup = {.batch_size = 2}) {
    setup.reader = cat("readers: ", readers);
    return check(setup);
  }

  MemoryFiles files_;
};

TEST_F(ReaderStreamTest, TakesOneRecordOfEachFileInTurn) {
  files_.files = {
      {"a", "1\n2\n3\n4\n5\n"}, {"b", "101\n102\n"}, {"c", ""}, {"d", "301\n"}, {"e", "401\n402\n403\n"},
  };
  EXPECT_EQ(check_readers(1), words("1 2 3 4 5 101 102 301 401 402 403"));
  EXPECT_EQ(check_readers(2), words("1 101 2 102 3 301 4 401 5 402 403"));
  EXPECT_EQ(check_readers(3), words("1 101 301 2 102 401 3 402 4 403 5"));
  for (const int readers : {4, 5, 6, 1000000}) {
    EXPECT_EQ(check_readers(readers), words("1 101 301 401 2 102 402 3 403 4 5")) << readers;
  }
}

TEST_F(ReaderStreamTest, AnEmptyFileGivesItsPlaceOnAtOnce) {
  files_.files = {{"a", ""}, {"b", "\n# nothing\n"}, {"c", "1\n2\n"}, {"d", ""}, {"e", "11\n12\n"}, {"f", "\n"}};
  GraphText setup{.reader = "readers: 2, comment: \"#\""};
  EXPECT_EQ(check(setup), words("1 11 2 12"));
  setup.reader = "readers: 3, comment: \"#\"";
  EXPECT_EQ(check(setup), words("1 11 2 12"));
  files_.files = {{"a", ""}, {"b", "\n"}};
  EXPECT_EQ(check_readers(2), Lines{});
}

TEST_F(ReaderStreamTest, CountsRecordsAndNoOtherLines) {
  files_.files = {{"a", "skipped\nx,y\n\n1,\"\n\n\"\n\n# 2,0\n3,0"},
                  {"b", "skipped\nx,y\n# \n101,0\n\n\n102,0\n103,0\n"}};
  const GraphText setup{.reader = "readers: 2, header: true, skip_lines: 1, comment: \"#\"", .batch_size = 1};
  EXPECT_EQ(check(setup), words("1 101 3 102 103"));
  EXPECT_EQ(GraphCheck(files_, setup.list()).run(),
            (Lines{"a:4 x=1", "--", "b:4 x=101", "--", "a:9 x=3", "--", "b:7 x=102", "--", "b:8 x=103"}));
}

TEST_F(ReaderStreamTest, WhatIsLeftOutUsesItsTurn) {
  files_.files = {{"a", "1\nq\n3\n-4\n-5\n6\n"}, {"b", "101\n102\n103\n104\n105\n"}};
  const GraphText setup{
      .decode = ", on_bad_row: skip", .ops = "- filter: {field: x, op: \">\", value: 0}\n", .batch_size = 1};
  EXPECT_EQ(Story(files_, setup).read(), (Lines{"1", "101", "bad a:2", "102", "3", "103", "104", "105", "6"}));
  EXPECT_EQ(check(setup), words("1 101 102 3 103 104 105 6"));
}

TEST_F(ReaderStreamTest, ABlankLineThatIsAnErrorIsARecord) {
  files_.files = {{"a", "1\n\n3\n"}, {"b", "101\n102\n103\n"}};
  const GraphText setup{.reader = "readers: 2, blank_lines: error", .decode = ", on_bad_row: skip", .batch_size = 1};
  EXPECT_EQ(Story(files_, setup).read(), (Lines{"1", "101", "bad a:2", "102", "3", "103"}));
}

TEST_F(ReaderStreamTest, NoReaderBeginsAPassBeforeAllHaveEndedTheOneBefore) {
  files_.files = {{"a", "1\n2\n3\n"}, {"b", "101\n"}, {"c", "201\n"}};
  GraphText setup{.queue = "files: \"*\", shuffle: false, epochs: 3", .batch_size = 2};
  EXPECT_EQ(check(setup), words("1 101 2 201 3 1 101 2 201 3 1 101 2 201 3"));
  setup.reader = "readers: 3";
  EXPECT_EQ(check(setup), words("1 101 201 2 3 1 101 201 2 3 1 101 201 2 3"));
  files_.files["b"] = files_.files["c"] = "";
  EXPECT_EQ(check(setup), words("1 2 3 1 2 3 1 2 3"));
}

// With seed 23 the five files come in the order d b e a c, then c e a b d (docs/input_graph.md).
TEST_F(ReaderStreamTest, TakesTheNamesInTheirOrder) {
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    const int first = 10 * (name[0] - 'a' + 1);
    files_.files[name] = cat(first, '\n', first + 1, '\n');
  }
  GraphText setup{.queue = "files: \"*\", epochs: 2", .batch_size = 3};
  EXPECT_EQ(check(setup), words("40 20 41 21 50 10 51 11 30 31 30 50 31 51 10 20 11 21 40 41"));
  setup.queue += ", shard: {index: 1, count: 2}";
  EXPECT_EQ(check(setup), words("20 10 21 11 50 20 51 21"));
}

TEST_F(ReaderStreamTest, AnErrorComesInItsTurn) {
  files_.files = {{"a", "1\nq\n3\n"}, {"b", "101\n102\n"}, {"c", "q\n"}};
  const GraphText one{.batch_size = 1};
  EXPECT_EQ(Story(files_, one).read(), (Lines{"1", "101", "error a:2:1: column 0 (x): expected int32, got \"q\""}));
  files_.files["a"] = "1\n2\n3\n";
  EXPECT_EQ(check(one), (Lines{"1", "101", "2", "102", "3", "error c:1:1: column 0 (x): expected int32, got \"q\""}));
  // A batch that the error is in does not come.
  EXPECT_EQ(check({.batch_size = 2}),
            (Lines{"1", "101", "2", "102", "error c:1:1: column 0 (x): expected int32, got \"q\""}));
}

TEST_F(ReaderStreamTest, AFileThatCannotBeReadFailsInItsFirstTurn) {
  files_.files = {{"a", "x\n1\n2\n3\n"}, {"b", "x\n101\n"}, {"c", "y\n"}, {"d", "z\n"}};
  const GraphText setup{.reader = "readers: 2, header: true", .batch_size = 1};
  const std::string differs =
      "error c:1:1: the header differs from the header of a: expected \"x\", got \"y\"; column 0: "
      "expected \"x\", got \"y\"";
  EXPECT_EQ(check(setup), (Lines{"1", "101", "2", differs}));
  const InputGraph graph = GraphCheck(files_, setup.list()).graph();
  for (const int threads : {0, 3}) {
    const auto executor = threads == 0 ? nullptr : std::make_unique<Executor>(threads);
    Story story(files_, setup, executor.get());
    files_.unreadable.insert("c");
    EXPECT_EQ(story.read(), (Lines{"1", "101", "2", "error c: cannot open the file: Permission denied"}));
    files_.unreadable.clear();
  }
}

TEST_F(ReaderStreamTest, AFailingReadEndsItSoon) {
  files_.files = {{"a", "1\n2\n3\n"}, {"b", "101\n102\n"}};
  for (const int threads : {0, 1, 3}) {
    const auto executor = threads == 0 ? nullptr : std::make_unique<Executor>(threads);
    Story story(files_, {.batch_size = 1}, executor.get());
    files_.broken.insert("b");
    EXPECT_EQ(story.read().back(), "error b: cannot read the file: Input/output error");
    EXPECT_LE(story.lines().size(), 2u);
    files_.broken.clear();
  }
}

TEST_F(ReaderStreamTest, AFailingReadOfAFileToComeEndsItSoon) {
  std::string& text = files_.files["a"];
  for (int row = 0; row < 100000; ++row) text += "1\n";
  files_.files["b"] = text;
  files_.files["c"] = "3\n";
  Executor executor(2);
  Story story(files_, {.batch_size = 1}, &executor);
  files_.broken.insert("c");
  RowBlock slot = story.pipeline().make_slot();
  int rows = 0;
  try {
    for (; story.pipeline().next(slot) > 0; ++rows) std::this_thread::yield();
    FAIL();
  } catch (const IoError&) {
  }
  EXPECT_LT(rows, 200000) << "before its turn comes";
}

TEST_F(ReaderStreamTest, CountsBadRowsInTheOrderOfTheTurns) {
  files_.files = {{"a", "1\nq\n3\nq\n"}, {"b", "q\n102\n103\n"}};
  GraphText setup{.decode = ", on_bad_row: skip, max_bad_rows: 1", .batch_size = 1};
  EXPECT_EQ(Story(files_, setup).read(),
            (Lines{"1", "bad b:1", "bad a:2",
                   "error a:2:1: column 0 (x): expected int32, got \"q\" (bad row 2 of the run; max_bad_rows is 1); "
                   "repair the data, or raise max_bad_rows"}));
  setup.decode = ", on_bad_row: skip, max_bad_rows: 3";
  EXPECT_EQ(Story(files_, setup).read(), (Lines{"1", "bad b:1", "bad a:2", "102", "3", "103", "bad a:4"}));
  setup.queue = "files: \"*\", shuffle: false, epochs: 2";
  setup.decode = ", on_bad_row: skip, max_bad_rows: 4";
  EXPECT_EQ(Story(files_, setup).read().size(), 11u) << "the second of the second pass is one too many";
}

TEST_F(ReaderStreamTest, StandsBelowOtherOps) {
  files_.files = {{"a", "1\n2\n3\n"}, {"b", "101\n102\n"}};
  GraphText setup{.batch_size = 3};
  setup.ops = "- repeat: {epochs: 2}\n";
  EXPECT_EQ(check(setup), words("1 101 2 102 3 1 101 2 102 3"));
  setup.ops = "- cache\n- repeat: {epochs: 3}\n";
  EXPECT_EQ(check(setup), words("1 101 2 102 3 1 101 2 102 3 1 101 2 102 3"));
  setup.ops = "- take: {rows: 4}\n- cache\n- repeat: {epochs: 2}\n";
  EXPECT_EQ(check(setup), words("1 101 2 102 1 101 2 102"));
  setup.ops = "- skip: {rows: 1}\n- map: {field: x, scale: 2}\n- repeat: {epochs: 2}\n";
  EXPECT_EQ(check(setup), words("202 4 204 6 202 4 204 6"));
  setup.ops =
      "- map: {name: first, field: x, scale: 1}\n"
      "- filename_queue: {name: files, files: a, shuffle: false, epochs: 2}\n"
      "- csv_reader: {name: reader, readers: 3}\n"
      "- decode_csv: {name: second, fields: {x: {columns: 0, type: int32}}}\n"
      "- interleave: {from: [first, second]}\n";
  EXPECT_EQ(check(setup), words("1 1 101 2 2 3 102 1 3 2 3"));
  setup.ops = "- queue: {capacity: 5, threads: 3}\n";
  EXPECT_EQ(check(setup), words("1 101 2 102 3"));
}

TEST_F(ReaderStreamTest, IsShuffledAsAnyOtherRows) {
  for (int i = 0; i < 5; ++i) {
    for (int row = 0; row < 3 * i + 1; ++row) files_.files[cat("f", i)] += cat(100 * i + row, '\n');
  }
  const auto list = [](int chunk_bytes) {
    return cat("- filename_queue: {files: \"*\", epochs: 2}\n- csv_reader: {readers: 3, chunk_bytes: ", chunk_bytes,
               "}\n- decode_csv: {fields: {x: {columns: 0, type: int32}}}\n- shuffle_batch: {batch_size: 4, "
               "min_after_dequeue: 6, capacity: 20, threads: 2, allow_smaller_final_batch: true}\n");
  };
  const Lines expected = GraphCheck(files_, list(1000)).check();
  EXPECT_EQ(values(expected).size(), 70u);
  EXPECT_EQ(GraphCheck(files_, list(3)).check(), expected);
}

TEST_F(ReaderStreamTest, AnEndlessPassWithoutRowsIsAnError) {
  files_.files = {{"a", ""}, {"b", "q\n"}, {"c", "\n"}};
  const std::string error =
      "error csv_reader: the data has no row to give, and without epochs it would be read forever; check what the "
      "files hold and what is left out, or set epochs";
  GraphText setup{.queue = "files: \"*\", shuffle: false", .decode = ", on_bad_row: skip", .batch_size = 1};
  EXPECT_EQ(Story(files_, setup).read(), (Lines{"bad b:1", error}));
  files_.files["c"] = "1\n";
  EXPECT_EQ(Story(files_, setup).read(3), (Lines{"bad b:1", "1", "bad b:1", "1", "bad b:1", "1"}));
}

TEST_F(ReaderStreamTest, SaysThatAFileHasGrownWhenItsTurnComes) {
  files_.files = {{"a", "1\n2\n"}, {"b", "101\n"}};
  Story story(files_, {.batch_size = 1});
  files_.files_at_open["b"] = "101\n102\n";
  EXPECT_EQ(story.read(), (Lines{"1",
                                 "warning: b: the file has grown since the run began, from 4 to 8 bytes; what was "
                                 "added is not read",
                                 "101", "2"}));
}

TEST_F(ReaderStreamTest, RefusesStatesOfOtherReadersAndPlaces) {
  files_.files = {{"a", "1\n2\n3\n"}, {"b", "101\n102\n"}};
  const GraphText setup{.batch_size = 1};
  Story story(files_, setup);
  story.read(2);
  const State state = story.pipeline().save();
  const auto restore = [&](const GraphText& other, const State& from) {
    return testing_support::error_of([&] { Story(files_, other).pipeline().restore(from); });
  };
  EXPECT_EQ(restore(setup, state), "no error");
  GraphText three = setup;
  three.reader = "readers: 3";
  EXPECT_NE(restore(three, state).find("the input state was saved by another input"), std::string::npos);
  const auto changed = [&](const char* key, std::vector<uint64_t> numbers) {
    State out = state;
    out.scope("ops").scope("csv_reader").set(key, std::move(numbers));
    return restore(setup, out);
  };
  EXPECT_EQ(changed("position", {0, 2}), "the saved position of csv_reader has 2 numbers, not 3");
  EXPECT_EQ(changed("position", {0, 2, 3}), "the saved places of csv_reader do not fit: 8 numbers, turn 3");
  EXPECT_EQ(changed("places", {0, 2, 2}), "the saved state has 3 values for \"places\", which is not a multiple of 4");
  EXPECT_EQ(changed("places", std::vector<uint64_t>(12)),
            "the saved places of csv_reader do not fit: 12 numbers, turn 2");
  EXPECT_EQ(changed("position", {0, 2, 1}), "no error");
  EXPECT_EQ(changed("places", {0, 2, 2, 0, 2, 0, 1, 0}),
            "the saved state is in file 2 of pass 0, which does not exist");
  EXPECT_EQ(changed("places", {0, 2, 2, 0, 0, 7, 1, 0}), "a: the saved state is at offset 7, but the file ends at 6");
  // Records that are not what they were: the left out one is a row now.
  State other = state;
  other.scope("ops").scope("csv_reader").set("places", {0, 2, 2, 1, 1, 4, 2, 0});
  Story restored(files_, setup);
  restored.pipeline().restore(other);
  EXPECT_EQ(restored.read().back(),
            "error a:2: the file is not what it was when the state was saved; a run goes on only with the data that it "
            "began with");
}

TEST_F(ReaderStreamTest, CancelEndsIt) {
  for (int i = 0; i < 5; ++i) {
    for (int row = 0; row < 50; ++row) files_.files[cat("f", i)] += cat(row, '\n');
  }
  const GraphText setup{.queue = "files: \"*\"", .reader = "readers: 3, chunk_bytes: 20", .batch_size = 2};
  for (const int threads : {0, 1, 3}) {
    const auto executor = threads == 0 ? nullptr : std::make_unique<Executor>(threads);
    Story story(files_, setup, executor.get());
    std::atomic<bool> begun{false};
    std::thread canceller([&] {
      while (!begun) std::this_thread::yield();
      story.pipeline().cancel();
    });
    RowBlock slot = story.pipeline().make_slot();
    while (story.pipeline().next(slot) > 0) begun = true;
    canceller.join();
    EXPECT_TRUE(story.pipeline().cancelled());
    EXPECT_EQ(story.pipeline().next(slot), 0);
  }
}

TEST_F(ReaderStreamTest, BoundsItsMemory) {
  for (int i = 0; i < 6; ++i) files_.files[cat("f", i)] = std::string(20000, '1') + "\n";
  const auto bound = [&](int readers, int threads) {
    return GraphCheck(files_, GraphText{.reader = cat("readers: ", readers)}.list()).graph().memory_bound(threads);
  };
  EXPECT_GT(bound(2, 1), bound(1, 1));
  EXPECT_GT(bound(4, 2), bound(2, 2));
  EXPECT_GT(bound(2, 4), bound(2, 2));
  EXPECT_EQ(bound(6, 2), bound(1000, 2)) << "no more places than files";
  // Places, and readers for what comes next: the chunks of each, and what its tasks work with.
  const uint64_t one = bound(1, 1);
  EXPECT_LT(bound(3, 1), 5 * one);
}

TEST_F(ReaderStreamTest, MeasuresWhatItDoes) {
  uint64_t bytes = 0;
  for (int i = 0; i < 4; ++i) {
    for (int row = 0; row < 20; ++row) files_.files[cat("f", i)] += cat(row, '\n');
    bytes += files_.files[cat("f", i)].size();
  }
  const GraphText setup{.ops = "- filter: {field: x, op: \"<\", value: 5}\n"};
  Executor executor(2);
  for (Executor* where : {static_cast<Executor*>(nullptr), &executor}) {
    Story story(files_, setup, where);
    story.read();
    EXPECT_EQ(story.counts(), cat(bytes, " bytes, 0 bad, filter 60"));
    const InputStatistics statistics = story.pipeline().statistics();
    ASSERT_GE(statistics.ops.size(), 3u);
    EXPECT_EQ(statistics.ops[0].name, "csv_reader");
    EXPECT_EQ(statistics.ops[0].bytes, bytes);
    EXPECT_EQ(statistics.ops[1].rows, 80u);
    EXPECT_GT(statistics.ops[1].busy_seconds, 0);
    EXPECT_EQ(statistics.ops[2].rows, 20u);
    EXPECT_GT(statistics.times.wait_seconds, 0);
  }
}

// The names of a filename_queue, until it breaks.
class BreakingNames : public NameSource {
 public:
  BreakingNames(const Spec& options, int names)
      : inner_(testing_support::make_op<NameSource>("filename_queue", options)), left_(names) {}
  Port bind(const BindArgs& args) override { return inner_->bind(args); }
  bool next(Unit& unit) override {
    if (left_-- == 0) throw std::runtime_error("no more names");
    return inner_->next(unit);
  }
  void rewind(uint32_t run) override { inner_->rewind(run); }
  void seek(const Position& position) override { inner_->seek(position); }
  void save(State& state) const override { inner_->save(state); }
  void check(const State& state) const override { inner_->check(state); }
  Unit unit_of(const RowId& id) const override { return inner_->unit_of(id); }
  Place place(const RowId& id) const override { return inner_->place(id); }
  std::vector<std::shared_ptr<const FileEntry>> files() const override { return inner_->files(); }

 private:
  std::unique_ptr<NameSource> inner_;
  int left_;
};

// What comes before is used first, whether names end a pass or not.
TEST_F(ReaderStreamTest, NamesThatFailDoSoInTheirTurn) {
  files_.files = {{"a", "1\n2\n3\n"}, {"b", "11\n"}, {"c", "21\n22\n23\n"}};
  const std::vector<Lines> stories = {words("error"), words("1 error"), words("1 11 2 error"),
                                      words("1 11 2 21 3 22 error")};
  for (size_t names = 0; names < stories.size(); ++names) {
    BreakingNames queue(Spec::map().set("files", "*").set("shuffle", false).set("epochs", 2), static_cast<int>(names));
    queue.set_origin({"queue"});
    BindArgs args;
    args.files = &files_;
    args.name = "queue";
    std::vector<Port> ports = {queue.bind(args)};
    const auto reader = testing_support::make_op<FileSource>("csv_reader", Spec::map().set("readers", 2));
    args.names = &queue;
    args.inputs = {&ports[0], 1};
    const Port text = reader->bind(args);
    const auto decode = testing_support::make_op<Transform>(
        "decode_csv", Spec::map().set("fields", Spec::map().set("x", Spec::map().set("columns", 0))));
    args.inputs = {&text, 1};
    const Port rows = decode->bind(args);
    ReaderStream stream(*reader, 0, "reader", text, {{.transform = decode.get(), .name = "decode", .output = rows}});
    stream.start(nullptr, nullptr);
    Lines got;
    try {
      while (const RowSpan span = stream.pull(5)) got.push_back(cat(*span.block->row<float>(0, span.begin)));
    } catch (const InternalError& error) {
      EXPECT_EQ(error.message(), "queue: no more names");
      got.emplace_back("error");
    }
    EXPECT_EQ(got, stories[names]);
  }
}

// The order, written down once more in the plainest way.

// One record of a file: what it is in a Story, "" for a row that a filter leaves out.
using Records = std::vector<std::string>;

class Draws {
 public:
  explicit Draws(uint64_t seed) : seed_(seed) {}
  int below(int n) { return static_cast<int>(scale_to(philox64(seed_, 5, index_++), static_cast<uint64_t>(n))); }

 private:
  uint64_t seed_, index_ = 0;
};

// Writes a random file, with lines that are no records; returns its records.
Records random_file(Draws& draws, const std::string& path, int number, std::string& text) {
  static constexpr const char* kEnds[] = {"\n", "\r\n"};
  Records out;
  text = "x,note\n";
  int line = 2;
  const int records = draws.below(4) == 0 ? 0 : draws.below(12);
  for (int i = 0; i < records; ++i) {
    for (; draws.below(4) == 0; ++line) text += draws.below(2) == 0 ? "\n" : "# 1,2\n";
    const int value = 100 * number + i + 1;
    const int kind = draws.below(5);
    const std::string note = draws.below(3) == 0 ? "\"a\n1,2\n\"" : "n";
    if (kind == 0) {
      out.push_back(cat("bad ", path, ':', line));
      text += cat("q,", note);
    } else {
      out.push_back(kind == 1 ? "" : cat(value));
      text += cat(kind == 1 ? -value : value, ',', note);
    }
    line += note == "n" ? 1 : 3;
    if (i + 1 < records || draws.below(2) == 0) text += kEnds[draws.below(2)];
  }
  return out;
}

std::vector<size_t> order_of(uint64_t pass, size_t files) {
  std::vector<size_t> order(files);
  for (size_t i = 0; i < files; ++i) order[i] = i;
  for (size_t i = files; i-- > 1;) {
    std::swap(order[i], order[scale_to(philox64(23, fnv1a64("filename_queue"), pass << 32 | i), i + 1)]);
  }
  return order;
}

Lines merged(const std::vector<Records>& files, size_t readers, uint64_t passes) {
  Lines out;
  for (uint64_t pass = 0; pass < passes; ++pass) {
    std::vector<Records> names;
    for (const size_t file : order_of(pass, files.size())) names.push_back(files[file]);
    std::vector<Records> places(readers);
    for (bool any = true; any;) {
      any = false;
      for (Records& place : places) {
        while (place.empty() && !names.empty()) {
          place = names.front();
          names.erase(names.begin());
        }
        if (place.empty()) continue;
        any = true;
        if (!place.front().empty()) out.push_back(place.front());
        place.erase(place.begin());
      }
    }
  }
  return out;
}

TEST_F(ReaderStreamTest, GivesWhatAPlainMergeGives) {
  std::vector<std::unique_ptr<Executor>> executors(1);
  for (const int threads : {1, 2, 3, 8}) executors.push_back(std::make_unique<Executor>(threads));
  for (uint64_t seed = 0; seed < 24; ++seed) {
    Draws draws(seed);
    const int count = 1 + draws.below(7);
    const int readers = 2 + draws.below(6);
    const int passes = 1 + draws.below(2);
    files_.files.clear();
    std::vector<Records> records;
    for (int i = 0; i < count; ++i) {
      const std::string path = cat("f", i);
      records.push_back(random_file(draws, path, i, files_.files[path]));
    }
    const GraphText setup{.queue = cat("files: \"*\", epochs: ", passes),
                          .reader = cat("header: true, comment: \"#\", readers: ", readers),
                          .decode = ", on_bad_row: skip",
                          .ops = "- filter: {field: x, op: \">\", value: 0}\n",
                          .batch_size = 1};
    const Lines expected = merged(records, static_cast<size_t>(readers), static_cast<uint64_t>(passes));
    Story whole(files_, setup);
    ASSERT_EQ(whole.read(), expected) << seed;
    const std::string counts = whole.counts();
    const auto batches = static_cast<int64_t>(whole.pipeline().summary().batches);
    const auto chunk = [&](int64_t k) {
      return cat(", chunk_bytes: ", std::vector{1, 2, 7, 30, 1000}[static_cast<size_t>(k) % 5]);
    };
    for (size_t i = 0; i < executors.size(); ++i) {
      for (int64_t k = 0; k < 5; ++k) {
        Story other(files_, setup, executors[i].get(), chunk(k));
        EXPECT_EQ(other.read(), expected) << seed << ' ' << i << ' ' << k;
        EXPECT_EQ(other.counts(), counts);
      }
    }
    // From the state behind every row, and at the end, on other threads and chunks.
    for (int64_t k = 0; k <= batches + 1; ++k) {
      Story first(files_, setup, executors[static_cast<size_t>(k) % 5].get(), chunk(k));
      Lines got = first.read(k);
      const State state = first.pipeline().save();
      Story second(files_, setup, executors[static_cast<size_t>(k + 3) % 5].get(), chunk(k + 2));
      second.pipeline().restore(State::decode(state.encode()));
      EXPECT_EQ(second.pipeline().save(), state);
      const Lines rest = second.read();
      got.insert(got.end(), rest.begin(), rest.end());
      EXPECT_EQ(got, expected) << seed << ' ' << k;
      EXPECT_EQ(second.counts(), counts) << seed << ' ' << k;
    }
  }
}

// However long the run was, a state has four numbers a place.
TEST_F(ReaderStreamTest, AStateDoesNotGrow) {
  for (int i = 0; i < 3; ++i) {
    for (int row = 0; row < 100; ++row) files_.files[cat("f", i)] += cat(row, '\n');
  }
  GraphText setup{.batch_size = 1};
  Story story(files_, setup);
  story.read(2);
  const size_t early = story.pipeline().save().encode().size();
  story.read(170);
  EXPECT_EQ(story.pipeline().save().encode().size(), early);
}

}  // namespace
}  // namespace millrace
