// csv_reader over compressed files: the same rows, places, errors and states as over the text in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "millrace/input/graph/pipeline.h"
#include "tests/input/compressed/compressing.h"
#include "tests/input/graph_check.h"
#include "tests/support/paths.h"
#include "tests/support/sanitized.h"
#include "tests/support/temp_folder.h"

#ifdef MILLRACE_TESTS_COMPRESSED

namespace millrace {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing_support::bgzf_of;
using testing_support::compressed_kinds;
using testing_support::GraphCheck;
using testing_support::gzip_of;
using testing_support::Lines;
using testing_support::MemoryFiles;
using testing_support::numbers_text;
using testing_support::zstd_of;

// Records with everything that makes them hard to cut.
std::string hard_csv(int rows, uint64_t seed = 1) {
  static constexpr const char* kNotes[] = {"plain",
                                           "\"two\nlines\"",
                                           "\"a, \"\"b\"\"\"",
                                           "\"\n\n\n\"",
                                           "\"\r\n,\"",
                                           "",
                                           "\"a long note that takes more room than others do\""};
  std::string out = "x,note,y\n";
  for (uint64_t row = 0; row < static_cast<uint64_t>(rows); ++row) {
    if (philox64(seed, 1, row) % 9 == 0) out += "\n";
    out += cat(row, ',', kNotes[philox64(seed, 2, row) % std::size(kNotes)], ',',
               static_cast<double>(philox64(seed, 3, row) % 800) / 8, "\n");
  }
  return out;
}

class CompressedCsv : public ::testing::Test {
 protected:
  struct Setup {
    std::string queue = "files: '*.csv', shuffle: false, epochs: 1";
    std::string reader = "header: true, chunk_bytes: 200";
    std::string decode =
        "{x: {columns: x, type: int32}, note: {columns: note, type: string, default: ''}, y: {columns: y}}";
    std::string batch = "batch: {batch_size: 16, allow_smaller_final_batch: true}";
  };
  static std::string list(const Setup& setup) {
    return cat("- filename_queue: {", setup.queue, "}\n- csv_reader: {", setup.reader,
               "}\n- decode_csv: {fields: ", setup.decode, "}\n- ", setup.batch, '\n');
  }
  GraphCheck graph(const Setup& setup) { return {files_, list(setup)}; }

  MemoryFiles files_;
};

TEST_F(CompressedCsv, EveryKindGivesTheRowsOfTheText) {
  const std::string text = hard_csv(400);
  for (const int64_t chunk_bytes : {50, 1000, 262144}) {
    const Setup setup = {.reader = cat("header: true, chunk_bytes: ", chunk_bytes)};
    files_.files = {{"a.csv", text}};
    const Lines expected = graph(setup).run();
    ASSERT_GT(expected.size(), 400u);
    for (const auto& [name, compress] : compressed_kinds()) {
      files_.files["a.csv"] = compress(text);
      EXPECT_EQ(graph(setup).run(), expected) << name << ' ' << chunk_bytes;
      Executor executor(4);
      EXPECT_EQ(graph(setup).run(&executor), expected) << name << ' ' << chunk_bytes << ", 4 threads";
    }
  }
}

TEST_F(CompressedCsv, ThreadsAndSavedStatesChangeNothing) {
  const std::string text = hard_csv(120), other = hard_csv(60, 2);
  const Setup ways[] = {
      {},
      {.reader = "header: true, chunk_bytes: 100, readers: 2"},
      {.queue = "files: '*.csv', epochs: 2", .batch = "shuffle_batch: {batch_size: 20, min_after_dequeue: 50}"},
  };
  for (const Setup& setup : ways) {
    files_.files = {{"a.csv", text}, {"b.csv", other}};
    const Lines expected = graph(setup).run();
    for (const auto& [name, compress] : compressed_kinds()) {
      files_.files = {{"a.csv", compress(text)}, {"b.csv", other}};
      EXPECT_EQ(graph(setup).check(), expected) << name;
    }
  }
}

TEST_F(CompressedCsv, PositionsAreInTheText) {
  const std::string text = hard_csv(200);
  const auto position = [&](const std::string& bytes, int batches) {
    files_.files = {{"a.csv", bytes}};
    Pipeline pipeline(graph({}).graph(), {});
    RowBlock slot = pipeline.make_slot();
    for (int i = 0; i < batches; ++i) pipeline.next(slot);
    const State state = pipeline.save();
    return state.scope("ops").scope("csv_reader").values("position");
  };
  for (const int batches : {1, 6}) {
    const std::vector<uint64_t> expected = position(text, batches);
    for (const auto& [name, compress] : compressed_kinds()) {
      EXPECT_EQ(position(compress(text), batches), expected) << name << ' ' << batches;
    }
  }
}

TEST_F(CompressedCsv, HeadersAndSkippedLinesMayLieInPieces) {
  const std::string text = "a title\n\"\n# note\n" + hard_csv(30);
  const Setup setup = {.reader = "header: true, skip_lines: 2, comment: '#', chunk_bytes: 7"};
  files_.files = {{"a.csv", text}};
  const Lines expected = graph(setup).run();
  ASSERT_GT(expected.size(), 30u);
  for (const size_t block : {1u, 5u, 13u, 1000u}) {
    files_.files["a.csv"] = bgzf_of(text, block);
    EXPECT_EQ(graph(setup).run(), expected) << block;
    files_.files["a.csv"] =
        testing_support::in_pieces(text, block, [](std::string_view piece) { return zstd_of(piece); });
    EXPECT_EQ(graph(setup).run(), expected) << block;
    files_.files["a.csv"] =
        testing_support::in_pieces(text, block, [](std::string_view piece) { return gzip_of(piece); });
    EXPECT_EQ(graph(setup).run(), expected) << block;
  }
  EXPECT_EQ(graph(setup).check(), expected);
}

TEST_F(CompressedCsv, FilesWithoutTextHaveNoRows) {
  const Setup setup = {.reader = "chunk_bytes: 100", .decode = "{x: {columns: 0}}"};
  for (const auto& [name, compress] : compressed_kinds()) {
    if (compress("").empty()) continue;
    files_.files = {{"a.csv", compress("")}, {"b.csv", "1\n"}, {"c.csv", compress("2")}};
    EXPECT_EQ(graph(setup).run(), (Lines{"b.csv:1 x=1", "c.csv:1 x=2"})) << name;
  }
}

// A long record may reach through any number of pieces.
TEST_F(CompressedCsv, ARecordMayBeLongerThanAnyPiece) {
  const std::string text = "1,a,1\n2,\"" + std::string(3000, 'b') + "\n" + std::string(3000, 'c') + "\",2\n3,d,3\n";
  const Setup setup = {.reader = "chunk_bytes: 100",
                       .decode = "{x: {columns: 0, type: int32}, note: {columns: 1, type: string}, y: {columns: 2}}"};
  files_.files = {{"a.csv", text}};
  const Lines expected = graph(setup).run();
  ASSERT_EQ(expected.size(), 3u);
  for (const auto& [name, compress] : compressed_kinds()) {
    files_.files["a.csv"] = compress(text);
    EXPECT_EQ(graph(setup).check(), expected) << name;
  }
}

// A quote where none should be makes all line ends seem to lie between quotes.
TEST_F(CompressedCsv, AStrayQuoteCostsTimeOnly) {
  std::string text = "# it isn\"t\n" + numbers_text(5000);
  const Setup setup = {.reader = "comment: '#', chunk_bytes: 300", .decode = "{x: {columns: 0}}"};
  files_.files = {{"a.csv", text}};
  const Lines expected = graph(setup).run();
  files_.files["a.csv"] = testing_support::in_pieces(text, 500, [](std::string_view piece) { return gzip_of(piece); });
  EXPECT_EQ(graph(setup).run(), expected);
  Executor executor(3);
  EXPECT_EQ(graph(setup).run(&executor), expected);
}

TEST_F(CompressedCsv, RowsBeforeAnErrorComeFirst) {
  const std::string text = hard_csv(300);
  files_.files = {{"a.csv", text}};
  const Setup by_row = {.batch = "batch: {batch_size: 1}"};
  const Lines whole = graph(by_row).run();
  for (const auto& [name, compress] : compressed_kinds()) {
    const std::string bytes = compress(text);
    for (size_t cut = 64; cut < bytes.size(); cut += 64) {
      files_.files["a.csv"] = bytes.substr(0, cut);
      Lines lines;
      try {
        lines = graph(by_row).run();
      } catch (const DataError& error) {
        lines = {cat("error ", error.what())};  // before the start
      } catch (const ConfigError&) {
        continue;  // between two members, before the header is whole
      }
      ASSERT_FALSE(lines.empty()) << name << ' ' << cut;
      const std::string last = lines.back();
      if (last.starts_with("error ")) lines.pop_back();
      if (!lines.empty() && lines.back() == "--") lines.pop_back();
      EXPECT_LE(lines.size(), whole.size());
      // Behind an end between two members the last record may be shorter than it was.
      if (!lines.empty() && !last.starts_with("error ")) lines.pop_back();
      EXPECT_TRUE(std::equal(lines.begin(), lines.end(), whole.begin())) << name << ' ' << cut;
      if (!last.starts_with("error ")) continue;
      EXPECT_THAT(last, AnyOf(HasSubstr("a.csv: the compressed data end too early, at byte "), HasSubstr("a.csv:")))
          << name << ' ' << cut;
      Executor executor(3);
      try {
        const Lines again = graph(by_row).run(&executor);
        EXPECT_EQ(again.back(), last) << name << ' ' << cut;
      } catch (const DataError&) {
      }
    }
  }
}

TEST_F(CompressedCsv, ADamagedFileIsAnErrorOrHasRows) {
  const std::string text = hard_csv(200);
  const Setup setup = {.reader = "header: true, chunk_bytes: 400"};
  for (const auto& [name, compress] : compressed_kinds()) {
    const std::string bytes = compress(text);
    for (uint64_t i = 0; i < test::rounds(uint64_t{150}); ++i) {
      std::string damaged = bytes;
      const size_t at = 4 + philox64(1, 1, i) % (bytes.size() - 4);
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << philox64(1, 2, i) % 8);
      files_.files = {{"a.csv", damaged}};
      try {
        const Lines lines = graph(setup).run();
        ASSERT_FALSE(lines.empty());
        Executor executor(2);
        EXPECT_EQ(graph(setup).run(&executor), lines) << name << ' ' << at;
      } catch (const DataError&) {
      } catch (const ConfigError&) {
        // The header that came out has other names.
      }
    }
  }
}

// A cut between two blocks shows nowhere else.
TEST_F(CompressedCsv, BlocksWithoutTheirEndAreAWarningOfTheFirstPass) {
  const std::string text = hard_csv(100), whole = bgzf_of(text, 300);
  files_.files = {{"a.csv", whole}, {"b.csv", bgzf_of(text, 300, false)}, {"c.csv", gzip_of(text)}, {"d.csv", text}};
  for (const int threads : {1, 3}) {
    Executor executor(threads);
    std::vector<std::string> printed;
    Pipeline pipeline(graph({.queue = "files: '*.csv', shuffle: false, epochs: 2"}).graph(),
                      {.executor = &executor, .on_print = [&](std::string_view line) { printed.emplace_back(line); }});
    RowBlock slot = pipeline.make_slot();
    int64_t rows = 0;
    while (pipeline.next(slot) > 0) rows += slot.size();
    EXPECT_EQ(rows, 800);
    EXPECT_EQ(printed,
              (Lines{"warning: b.csv: the file ends without the mark of bgzip, an empty block; it may be cut off"}));
  }
}

TEST_F(CompressedCsv, ABombIsARecordThatIsTooLong) {
  const std::string text = "x\n1\n" + std::string(40 << 20, '2');
  const Setup setup = {.reader = "header: true", .decode = "{x: {columns: x}}"};
  for (const std::string& bytes : {gzip_of(text), zstd_of(text), zstd_of(text, {.size = false}), bgzf_of(text)}) {
    ASSERT_LT(bytes.size(), 200000u);
    files_.files = {{"a.csv", bytes}};
    Executor executor(2);
    const Lines lines = graph(setup).run(&executor);
    EXPECT_THAT(lines.back(), HasSubstr("a.csv:3"));
    EXPECT_THAT(lines.back(), HasSubstr("error"));
  }
}

TEST_F(CompressedCsv, AFileThatShrinksIsAnErrorAndOneThatGrowsIsReadAsItWas) {
  const std::string text = hard_csv(3000);
  for (const auto& [name, compress] : compressed_kinds()) {
    const std::string bytes = compress(text);
    const auto rows_if = [&](const std::string& now) {
      files_.files_at_open.clear();
      files_.files = {{"a.csv", "x,note,y\n1,a,1\n"}, {"b.csv", bytes}};
      Pipeline pipeline(graph({}).graph(), {});
      files_.files_at_open["b.csv"] = now;
      RowBlock slot = pipeline.make_slot();
      int64_t rows = 0;
      while (pipeline.next(slot) > 0) rows += slot.size();
      return rows;
    };
    EXPECT_EQ(rows_if(bytes + "more"), 3001) << name;
    EXPECT_THROW(rows_if(bytes.substr(0, bytes.size() / 2)), IoError) << name;
  }
}

TEST_F(CompressedCsv, HoldsOutTheRowsThatItWouldOfTheText) {
  const std::string text = hard_csv(200);
  files_.files = {{"a.csv", text}, {"b.csv.gz", gzip_of(text)}, {"c.csv.zst", zstd_of(text)}};
  const auto lines_held = [&](const std::string& path, const std::string& as) {
    MemoryFiles files;
    files.files[as] = files_.files[path];
    const Setup setup = {.queue = cat("files: ", as, ", shuffle: false, epochs: 1"),
                         .batch = "hold_out: {share: 0.3}\n- batch: {batch_size: 1}"};
    Lines out;
    for (const std::string& line : GraphCheck(files, list(setup)).run()) {
      out.push_back(line.substr(std::min(line.find(':'), line.size())));
    }
    return out;
  };
  const Lines plain = lines_held("a.csv", "t.csv");
  EXPECT_GT(plain.size(), 100u);
  EXPECT_EQ(lines_held("b.csv.gz", "t.csv.gz"), plain);
  EXPECT_EQ(lines_held("c.csv.zst", "t.csv.zst"), plain);
  EXPECT_NE(lines_held("a.csv", "u.csv"), plain);
}

TEST_F(CompressedCsv, APipeMayBeCompressed) {
  const std::string text = hard_csv(300);
  const Setup setup = {.queue = "files: '-'"};
  const auto pieces = [](const std::string& bytes, size_t piece) {
    std::vector<std::string> out;
    for (size_t at = 0; at < bytes.size(); at += piece) out.push_back(bytes.substr(at, piece));
    return out;
  };
  files_.streams["-"] = {text};
  const Lines expected = graph(setup).run();
  for (const auto& [name, compress] : compressed_kinds()) {
    for (const size_t piece : {10u, 100000u}) {
      files_.streams["-"] = pieces(compress(text), piece);
      EXPECT_EQ(graph(setup).run(), expected) << name;
      Executor executor(2);
      EXPECT_EQ(graph(setup).run(&executor), expected) << name;
    }
  }
  const std::string bytes = gzip_of(text);
  files_.streams["-"] = {bytes.substr(0, bytes.size() - 20)};
  EXPECT_THAT(graph(setup).run().back(), HasSubstr("error -: the compressed data end too early"));
}

TEST_F(CompressedCsv, CanBeLeftAsItIs) {
  files_.files = {{"a.csv", gzip_of("x\n1\n")}};
  const Setup setup = {.reader = "compression: none", .decode = "{x: {columns: 0}}"};
  try {
    graph(setup).graph();
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(),
                 "a.csv:1:1: this is not CSV text; the file is compressed by gzip: leave out compression: none");
  }
}

TEST_F(CompressedCsv, AnArchiveIsToldByWhatIsInIt) {
  const std::string tar = "rows.csv" + std::string(249, '\0') + "ustar  \nx,y\n1,2\n";
  files_.files = {{"a.csv", gzip_of(tar)}};
  EXPECT_EQ(testing_support::error_of([&] { graph({}).graph(); }),
            "a.csv:1:1: this is not CSV text; the file is a tar archive: unpack it first: tar xf FILE");
}

TEST_F(CompressedCsv, TheShareIsOfTheFilesOnDisk) {
  const std::string text = hard_csv(3000);
  files_.files = {{"a.csv", text}, {"b.csv", text}};
  const Setup setup = {.batch = "batch: {batch_size: 100}"};
  for (const auto& [name, compress] : compressed_kinds()) {
    files_.files = {{"a.csv", compress(text)}, {"b.csv", compress(text)}};
    Pipeline pipeline(graph(setup).graph(), {});
    RowBlock slot = pipeline.make_slot();
    double before = 0;
    for (int batch = 1; pipeline.next(slot) > 0; ++batch) {
      const double share = *pipeline.share();
      EXPECT_GE(share, before - 0.001) << name << ": what is not read yet is guessed";
      EXPECT_LE(share, 1) << name;
      if (batch == 30) {
        EXPECT_NEAR(share, 0.5, 0.05) << name;
      }
      before = share;
    }
    EXPECT_EQ(pipeline.share(), 1);
    EXPECT_EQ(pipeline.summary().bytes, 2 * text.size()) << "of text";
  }
}

TEST_F(CompressedCsv, CountsItsMemory) {
  files_.files = {{"a.csv", hard_csv(100)}};
  const auto bound = [&] { return graph({}).graph().memory_bound(2); };
  const uint64_t plain = bound();
  files_.files = {{"a.csv", gzip_of(hard_csv(100))}};
  EXPECT_GT(bound(), plain);
  files_.files = {{"a.csv", gzip_of(std::string(20 << 20, '\n'), {}, 0)}};
  EXPECT_GT(bound(), plain + (5 << 20)) << "and the memory of points";
  const uint64_t saved = graph({}).graph().state_bound();
  EXPECT_GE(saved, 32768u) << "of the position";
  EXPECT_LT(saved, 40000u);
}

// A number for all rows that a run gives.
uint64_t hash_of_rows(Pipeline& pipeline, RowBlock& slot, uint64_t batches) {
  uint64_t hash = 7;
  for (uint64_t batch = 0; batch < batches && pipeline.next(slot) > 0; ++batch) {
    for (int64_t row = 0; row < slot.size(); ++row) {
      const RowId& id = slot.id(row);
      hash = philox64(hash, id.offset, id.line) ^ static_cast<uint64_t>(*slot.row<int32_t>(0, row));
    }
  }
  return hash;
}

// Long enough to have points within members: the first epoch is decoded in order, the second one from the points, and a
// state goes on from the middle of a member.
TEST_F(CompressedCsv, LargeFilesComeInTheSameOrderInEveryEpoch) {
  const std::string text = numbers_text(9 << 20), packed = gzip_of(text, {}, 1);
  const Setup setup = {.queue = "files: a.csv, epochs: 2",
                       .reader = "chunk_bytes: 262144",
                       .decode = "{x: {columns: 0, type: int32}}",
                       .batch = "shuffle_batch: {batch_size: 500, min_after_dequeue: 2000, threads: 4}"};
  const auto run = [&](const std::string& bytes, Executor* executor, std::optional<uint64_t> save_at, State* state) {
    files_.files = {{"a.csv", bytes}};
    Pipeline pipeline(graph(setup).graph(), {.executor = executor});
    RowBlock slot = pipeline.make_slot();
    if (state != nullptr && !save_at) {
      pipeline.restore(*state);
      EXPECT_EQ(pipeline.save(), *state);
    }
    if (!save_at) return hash_of_rows(pipeline, slot, UINT64_MAX);
    hash_of_rows(pipeline, slot, *save_at);
    if (state != nullptr) *state = pipeline.save();
    return hash_of_rows(pipeline, slot, UINT64_MAX);
  };
  Executor executor(4);
  const uint64_t expected = run(text, nullptr, {}, nullptr);
  EXPECT_EQ(run(packed, nullptr, {}, nullptr), expected);
  EXPECT_EQ(run(packed, &executor, {}, nullptr), expected);
  for (const uint64_t at : {600u, 1500u}) {
    State state;
    const uint64_t rest = run(packed, &executor, at, &state);
    EXPECT_LT(state.encode().size(), 400000u) << "a few windows, no more";
    EXPECT_TRUE(state.scope("ops").scope("csv_reader").scope("source").has("points"));
    EXPECT_EQ(run(packed, &executor, {}, &state), rest) << at;
    State lying = state;
    std::string windows = lying.scope("ops").scope("csv_reader").scope("source").text("windows");
    for (char& c : windows) c = c == '1' ? '2' : c;
    lying.scope("ops").scope("csv_reader").scope("source").set_text("windows", windows);
    try {
      EXPECT_NE(run(packed, nullptr, {}, &lying), rest);
    } catch (const DataError&) {
    }
  }
}

TEST(CompressedIndex, ChangesNoRowAndIsWrittenAgainIfItIsDamaged) {
  TempFolder folder;
  folder.write("a.csv.gz", gzip_of(numbers_text(9 << 20), {}, 1));
  const std::string list =
      cat("- filename_queue: {files: '", folder.path("*.gz"),
          "', epochs: 1}\n- csv_reader: {index: true}\n- decode_csv: {fields: {x: {columns: 0, type: "
          "int32}}}\n- batch: {batch_size: 500, allow_smaller_final_batch: true}\n");
  const auto run = [&] {
    Executor executor(2);
    Pipeline pipeline(InputGraph::build(parse_yaml(list, "input.yaml"), builtin_ops(), {.seed = 23}),
                      {.executor = &executor});
    RowBlock slot = pipeline.make_slot();
    return hash_of_rows(pipeline, slot, UINT64_MAX);
  };
  const uint64_t first = run();
  const std::string index = TempFolder::read(folder.path(".a.csv.gz.index"));
  EXPECT_GT(index.size(), 60000u) << "two windows";
  EXPECT_EQ(run(), first) << "from the places in it; no pattern matches it";
  folder.write(".a.csv.gz.index", index.substr(0, 100));
  EXPECT_EQ(run(), first);
  EXPECT_GT(TempFolder::read(folder.path(".a.csv.gz.index")).size(), 60000u);
}

// scripts/make-format-fixtures made these files with gzip, pigz, bgzip, zstd and pzstd.
TEST(CompressedFixtures, AreReadAsTheTextBesideThem) {
  const std::string folder = test::source_dir() + "/tests/data/formats/";
  MemoryFiles files;
  const std::string list =
      "- filename_queue: {files: rows.csv, epochs: 1}\n- csv_reader: {header: true}\n- decode_csv: {fields: {id: "
      "{columns: id, type: int32}, note: {columns: note, type: string, default: ''}, x: {columns: x}}}\n- batch: "
      "{batch_size: 64, "
      "allow_smaller_final_batch: true}\n";
  files.files["rows.csv"] = TempFolder::read(folder + "rows.csv");
  const Lines expected = GraphCheck(files, list).run();
  ASSERT_GT(expected.size(), 200u);
  int found = 0;
  for (const auto& one : std::filesystem::directory_iterator(folder)) {
    const std::string path = one.path().string(), name = one.path().filename().string();
    if (!name.starts_with("rows.") || !(name.ends_with(".gz") || name.ends_with(".zst"))) continue;
    files.files["rows.csv"] = TempFolder::read(path);
    EXPECT_EQ(GraphCheck(files, list).run(), expected) << name;
    ++found;
  }
  EXPECT_GE(found, 8);
}

}  // namespace
}  // namespace millrace

#endif
