#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::MemoryFiles;

class CacheTest : public ::testing::Test {
 protected:
  CacheTest() {
    testing_support::add_counting_files(files_, 7, 6);
    files_.files["c.csv"] = "201,1\n";
  }
  GraphCheck graph(const std::string& ops, const std::string& epochs = "1",
                   const std::string& batch = "batch: {batch_size: 3, allow_smaller_final_batch: true}") {
    return {files_, cat("- filename_queue: {files: \"*.csv\", epochs: ", epochs, "}\n- csv_reader: {chunk_bytes: 9}\n",
                        "- decode_csv: {fields: {x: {columns: 0, type: int32}}}\n", ops, "- ", batch, "\n")};
  }
  // Bytes of text that a whole run decodes.
  static uint64_t decoded(const GraphCheck& check) {
    Pipeline pipeline(check.graph(), {});
    RowBlock slot = pipeline.make_slot();
    while (pipeline.next(slot) > 0) {
    }
    return pipeline.summary().bytes;
  }
  MemoryFiles files_;
};

TEST_F(CacheTest, GivesTheRowsOfTheFirstRunAgain) {
  const Lines once = graph("- cache\n").check();
  EXPECT_EQ(once, graph("").run());
  const Lines thrice = graph("- cache\n- repeat: {epochs: 3}\n", "1", "batch: {batch_size: 14}").check();
  ASSERT_EQ(thrice.size(), 3u * 14 + 2);
  for (size_t i = 0; i < 14; ++i) {
    EXPECT_EQ(thrice[i + 15], thrice[i]);
    EXPECT_EQ(thrice[i + 30], thrice[i]);
  }
}

TEST_F(CacheTest, ReadsTheFilesOnce) {
  const uint64_t once = decoded(graph("- cache\n"));
  EXPECT_GT(once, 0U);
  EXPECT_EQ(decoded(graph("- cache\n- repeat: {epochs: 5}\n")), once);
  EXPECT_EQ(decoded(graph("- repeat: {epochs: 5}\n")), 5 * once);
}

// States of every kind: in the first run and in further ones, with rows of two runs in the window.
TEST_F(CacheTest, GoesOnFromAStateAnywhere) {
  graph("- cache\n- repeat: {epochs: 4}\n", "2").check();
  graph("- cache\n- repeat: {epochs: 4}\n", "2", "shuffle_batch: {batch_size: 3, capacity: 20, min_after_dequeue: 9}")
      .check();
  graph("- cache\n- skip: {rows: 2}\n- repeat: {epochs: 3}\n").check();
}

// What a run tells: bad rows, lines of print, and what was left out.
struct Told {
  Lines lines;
  uint64_t bad_rows = 0, dropped = 0;
  bool operator==(const Told&) const = default;
};

// Behind the `saved`-th batch it goes on from a saved state.
Told told(const GraphCheck& check, int saved) {
  Told out;
  PipelineOptions options;
  options.on_bad_row = [&](const BadRow& row) { out.lines.push_back("bad " + row.place.text()); };
  options.on_print = [&](std::string_view text) { out.lines.emplace_back(text); };
  auto pipeline = std::make_unique<Pipeline>(check.graph(), options);
  RowBlock slot = pipeline->make_slot();
  for (int batch = 0; pipeline->next(slot) > 0; ++batch) {
    if (batch != saved) continue;
    const State state = pipeline->save();
    pipeline = std::make_unique<Pipeline>(check.graph(), options);
    pipeline->restore(state);
  }
  out.bad_rows = pipeline->summary().bad_rows;
  for (const Dropped& one : pipeline->summary().dropped) out.dropped += one.rows;
  return out;
}

TEST_F(CacheTest, ReadsAgainInSilence) {
  files_.files["t.csv"] = "1\nx\n2\n3\n4\ny\n";
  const auto graph_of = [&](const std::string& behind) {
    return GraphCheck(files_,
                      cat("- filename_queue: {files: t.csv, epochs: 1}\n- csv_reader\n- decode_csv: {fields: {x: "
                          "{columns: 0}}, on_bad_row: skip, max_bad_rows: 9}\n- filter: {field: x, op: '!=', "
                          "value: 3}\n- skip: {rows: 1}\n- print\n- cache\n",
                          behind, "- repeat: {epochs: 3}\n- batch: {batch_size: 1}\n"));
  };
  const Told whole = told(graph_of(""), -1);
  EXPECT_EQ(whole.lines.size(), 4u) << "once";
  EXPECT_EQ(whole.bad_rows, 2u);
  EXPECT_EQ(whole.dropped, 2u);
  const Told cut_short = told(graph_of("- take: {rows: 1}\n"), -1);
  EXPECT_EQ(cut_short.bad_rows, 3u) << "in every run, for it is read anew";
  for (int batch = 0; batch < 6; ++batch) {
    EXPECT_EQ(told(graph_of(""), batch), whole) << batch;
    EXPECT_EQ(told(graph_of("- take: {rows: 1}\n"), batch), cut_short) << batch;
  }
}

TEST_F(CacheTest, PassesAreCountedOn) {
  Pipeline pipeline(graph("- cache\n- repeat: {epochs: 3}\n", "2", "batch: {batch_size: 14}").graph(), {});
  RowBlock slot = pipeline.make_slot();
  std::vector<uint32_t> passes;
  while (pipeline.next(slot) > 0) passes.push_back(slot.id(0).pass);
  EXPECT_EQ(passes, (std::vector<uint32_t>{0, 1, 2, 3, 4, 5}));
}

// Where they are read again, random choices before the cache are made again, too.
TEST_F(CacheTest, KeepsWhatWasMixed) {
  files_.files.erase("c.csv");
  const std::string mixed = testing_support::reading("a.csv", "a") + testing_support::reading("b.csv", "b") +
                            "- mix: {from: [a, b], stop: all}\n- cache\n";
  const auto lines_of = [&](const std::string& ops, int batch_size) {
    const Lines lines = GraphCheck(files_, cat(mixed, ops, "- batch: {batch_size: ", batch_size, "}\n")).check();
    EXPECT_EQ(lines.size(), 3U * static_cast<size_t>(batch_size) + 2);
    return lines;
  };
  for (const auto& [ops, batch_size] :
       {std::pair("- repeat: {epochs: 3}\n", 13), std::pair("- take: {rows: 9}\n- repeat: {epochs: 3}\n", 9)}) {
    const Lines lines = lines_of(ops, batch_size);
    const Lines first(lines.begin(), lines.begin() + batch_size);
    EXPECT_EQ(Lines(lines.end() - batch_size, lines.end()), first);
  }
}

// The rest of the rows was never seen: every run reads what it needs.
TEST_F(CacheTest, AFirstRunThatIsCutShortIsReadAgain) {
  const Lines lines =
      graph("- cache\n- take: {rows: 4}\n- repeat: {epochs: 3}\n", "1", "batch: {batch_size: 4}").check();
  ASSERT_EQ(lines.size(), 14u);
  EXPECT_EQ(Lines(lines.begin() + 5, lines.begin() + 9), Lines(lines.begin(), lines.begin() + 4));
}

TEST_F(CacheTest, MoreRowsThanFitAreAnError) {
  const Lines lines = graph("- cache: {memory: 1KiB}\n").run();
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back(),
            "error input.yaml:4:3: cache: only 9 rows fit into memory: 1024 bytes; raise it, or leave the op out");
}

TEST_F(CacheTest, TextsCountAsWhatTheyTake) {
  files_.files["t.csv"] = std::string(2000, 'x') + "\n" + std::string(2000, 'y') + "\n";
  const GraphCheck check = {files_,
                            "- filename_queue: {files: t.csv, epochs: 1}\n- csv_reader\n- decode_csv: {fields: {s: "
                            "{columns: 0, type: string}}}\n- cache: {memory: 3KiB}\n- batch: {batch_size: 1}\n"};
  const Lines lines = check.run();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines.back(),
            "error input.yaml:4:3: cache: only 1 row fits into memory: 3072 bytes; raise it, or leave the op out");
}

TEST_F(CacheTest, SizesMayBeWrittenInManyWays) {
  const auto written = [&](const std::string& memory) {
    const InputGraph built = graph("- cache: {memory: " + memory + "}\n").graph();
    return built.resolved().items()[3].find("cache")->find("memory")->as_string();
  };
  EXPECT_EQ(written("2GiB"), "2GiB");
  EXPECT_EQ(written("1.5 MiB"), "1536KiB");
  EXPECT_EQ(written("1MB"), "1000000");
  EXPECT_EQ(written("4096"), "4KiB");
  for (const char* bad : {"2 gib", "lots", "-1", "0", "1e3"}) {
    EXPECT_NE(error_of([&] { written(bad); }).find("expected a number of bytes"), std::string::npos) << bad;
  }
}

}  // namespace
}  // namespace millrace
