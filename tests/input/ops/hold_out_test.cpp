#include <algorithm>

#include "millrace/core/random.h"
#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::make_op;
using testing_support::MemoryFiles;

class HoldOutTest : public ::testing::Test {
 protected:
  HoldOutTest() { testing_support::add_counting_files(files_, 200, 50); }
  std::string text(const std::string& files, const std::string& options, const std::string& behind = {}) const {
    return cat("- filename_queue: {files: ", files, ", shuffle: false, epochs: 1}\n- csv_reader: {chunk_bytes: 31}\n",
               "- decode_csv: {fields: {x: {columns: 0, type: int32}}}\n- hold_out", options, '\n', behind,
               "- batch: {batch_size: 16, allow_smaller_final_batch: true}\n");
  }
  // Places of the rows that come.
  Lines rows(Side side, const std::string& files = "a.csv", const std::string& options = ": {share: 0.2}",
             const std::string& behind = {}) {
    InputGraph graph = InputGraph::build(parse_yaml(text(files, options, behind), "i.yaml"), builtin_ops(),
                                         {.seed = 23, .files = &files_, .side = side});
    Pipeline pipeline(std::move(graph), {});
    Lines out;
    RowBlock slot = pipeline.make_slot();
    while (pipeline.next(slot) > 0) {
      for (int64_t row = 0; row < slot.size(); ++row) out.push_back(pipeline.place(slot.id(row)).text());
    }
    return out;
  }
  MemoryFiles files_;
};

TEST_F(HoldOutTest, DividesTheRowsInTwo) {
  const Lines trained = rows(Side::trained), held = rows(Side::held_out);
  EXPECT_GT(held.size(), 25u);
  EXPECT_LT(held.size(), 55u);
  Lines both = trained;
  both.insert(both.end(), held.begin(), held.end());
  std::sort(both.begin(), both.end());
  EXPECT_EQ(both.size(), 200u);
  EXPECT_EQ(std::adjacent_find(both.begin(), both.end()), both.end()) << "a row on both sides";
}

TEST_F(HoldOutTest, ATrainingGetsItsRowsWhateverTheThreadsAndTheSummaryCountsTheOthers) {
  const GraphCheck graph(files_, text("a.csv", ": {share: 0.2}"));
  EXPECT_GT(graph.check().size(), 100u);
  EXPECT_EQ(graph.dropped(), Lines{cat("hold_out ", rows(Side::held_out).size())});
}

TEST_F(HoldOutTest, ACompressedFileHasTheRowsOfThePlainOne) {
  const Lines held = rows(Side::held_out);
  for (const char* ending : {".gz", ".zst", ".bz"}) {
    const std::string path = cat("a.csv", ending);
    files_.files[path] = files_.files["a.csv"];  // its name decides
    Lines same;
    for (const std::string& line : held) same.push_back(path + line.substr(line.find(':')));
    EXPECT_EQ(rows(Side::held_out, path) == same, ending != std::string(".bz")) << path;
  }
}

TEST_F(HoldOutTest, TheRunsSeedFolderAndOtherFilesDoNotMatterButItsOwnSeedDoes) {
  const Lines held = rows(Side::held_out);
  files_.folders.insert("d");
  files_.files["d/a.csv"] = files_.files["a.csv"];
  Lines moved = rows(Side::held_out, "d/a.csv");
  for (std::string& place : moved) place.erase(0, 2);
  EXPECT_EQ(moved, held);
  Lines among = rows(Side::held_out, "[b.csv, a.csv]");
  among.erase(std::remove_if(among.begin(), among.end(), [](const std::string& place) { return place[0] == 'b'; }),
              among.end());
  EXPECT_EQ(among, held);
  EXPECT_EQ(rows(Side::held_out, "a.csv", ": {share: 0.2, name: other}"), held);
  EXPECT_NE(rows(Side::held_out, "a.csv", ": {share: 0.2, seed: 1}"), held);
}

TEST_F(HoldOutTest, AFileThatIsListedTwiceLiesOnOneSide) {
  Lines once = rows(Side::held_out);
  const Lines twice = rows(Side::held_out, "[a.csv, a.csv]");
  const size_t count = once.size();
  for (size_t i = 0; i < count; ++i) once.push_back(once[i]);
  EXPECT_EQ(twice, once);
}

TEST_F(HoldOutTest, ALargerShareHoldsOutMoreOfTheSame) {
  const Lines less = rows(Side::held_out, "a.csv", ": {share: 0.1}"), more = rows(Side::held_out);
  EXPECT_LT(less.size(), more.size());
  EXPECT_TRUE(std::includes(more.begin(), more.end(), less.begin(), less.end(), [](const auto& a, const auto& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  }));
}

TEST_F(HoldOutTest, WorksBehindABufferAndWithoutFiles) {
  const Lines held = rows(Side::held_out);
  const auto list = [&](const std::string& source) {
    return parse_yaml(cat(source, "- hold_out\n- batch: {batch_size: 7, allow_smaller_final_batch: true}\n"), "i.yaml");
  };
  const auto count = [&](const Spec& spec, Side side) {
    Pipeline pipeline(InputGraph::build(spec, builtin_ops(), {.files = &files_, .side = side}), {});
    RowBlock slot = pipeline.make_slot();
    size_t rows = 0;
    while (const int64_t more = pipeline.next(slot)) rows += static_cast<size_t>(more);
    return rows;
  };
  const Spec buffered = list(cat(testing_support::reading("a.csv"), "- queue: {capacity: 10}\n"));
  EXPECT_EQ(count(buffered, Side::held_out), held.size());
  const Spec made = list("- synthetic: {features: 2, rows: 1000}\n");
  EXPECT_EQ(count(made, Side::held_out) + count(made, Side::trained), 1000u);
  EXPECT_NEAR(static_cast<double>(count(made, Side::held_out)), 200, 60);
}

// Divides by the values of a field g.
class HoldOutGroupTest : public ::testing::Test {
 protected:
  // The rows of one side, as texts of the fields.
  Lines rows(const std::string& text, Side side = Side::held_out, const std::string& type = "int32",
             const std::string& options = "share: 0.2", const std::string& columns = "0") {
    files_.files["t.csv"] = text;
    const std::string list =
        cat("- filename_queue: {files: t.csv, epochs: 1}\n- csv_reader: {chunk_bytes: 64}\n",
            "- decode_csv: {fields: {g: {columns: ", columns, ", type: ", type, "}}}\n- hold_out: {group: g, ", options,
            "}\n- batch: {batch_size: 64, allow_smaller_final_batch: true}\n");
    Pipeline pipeline(
        InputGraph::build(parse_yaml(list, "i.yaml"), builtin_ops(), {.seed = 23, .files = &files_, .side = side}), {});
    Lines out;
    RowBlock slot = pipeline.make_slot();
    while (pipeline.next(slot) > 0) {
      for (int64_t row = 0; row < slot.size(); ++row) out.push_back(testing_support::row_text(slot, row).substr(2));
    }
    return out;
  }
  static Lines distinct(Lines lines) {
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    return lines;
  }
  static std::string file_of(const std::vector<int>& groups) {
    std::string out;
    for (const int group : groups) out += cat(group, '\n');
    return out;
  }
  MemoryFiles files_;
};

TEST_F(HoldOutGroupTest, RowsOfOneGroupAreOnOneSideInWhateverOrderTheyCome) {
  std::vector<int> groups;
  for (int i = 0; i < 500; ++i) groups.push_back(i * 37 % 100 - 20);
  const Lines held = rows(file_of(groups)), trained = rows(file_of(groups), Side::trained);
  EXPECT_EQ(held.size() + trained.size(), 500u);
  const Lines held_groups = distinct(held), trained_groups = distinct(trained);
  EXPECT_EQ(held.size(), 5 * held_groups.size());
  EXPECT_EQ(held_groups.size() + trained_groups.size(), 100u) << "no group is on both sides";
  EXPECT_GT(held_groups.size(), 8u);
  EXPECT_LT(held_groups.size(), 35u);
  std::vector<int> shuffled;
  for (size_t i = 0; i < groups.size(); ++i) shuffled.push_back(groups[(i * 211 + 3) % groups.size()]);
  EXPECT_EQ(distinct(rows(file_of(shuffled))), held_groups);
  EXPECT_EQ(distinct(rows(cat("7\n", file_of(groups)))), held_groups) << "what comes before does not matter";
  EXPECT_NE(distinct(rows(file_of(groups), Side::held_out, "int32", "share: 0.2, seed: 1")), held_groups);
  const Lines more = distinct(rows(file_of(groups), Side::held_out, "int32", "share: 0.4"));
  EXPECT_TRUE(std::includes(more.begin(), more.end(), held_groups.begin(), held_groups.end()));
}

TEST_F(HoldOutGroupTest, AWholeNumberIsTheSameInEveryType) {
  std::string text;
  for (int i = -100; i < 200; ++i) text += cat(i, '\n');
  const Lines held = rows(text);
  EXPECT_GT(held.size(), 30u);
  for (const char* type : {"int64", "float32", "float64"}) EXPECT_EQ(rows(text, Side::held_out, type), held) << type;
  Lines quoted;
  for (const std::string& one : held) quoted.push_back(quote(one));
  EXPECT_EQ(rows(text, Side::held_out, "string"), quoted) << "and as a text";
  for (int seed = 0; seed < 20; ++seed) {
    const std::string options = cat("share: 0.5, seed: ", seed);
    EXPECT_EQ(rows("-9223372036854775808\n", Side::held_out, "float64", options).size(),
              rows("-9223372036854775808\n", Side::held_out, "int64", options).size());
  }
  EXPECT_EQ(rows("2024-01-31\n1970-01-01\n2000-02-29\n1999-12-31\n", Side::held_out, "date", "share: 0.5"),
            rows("1706659200\n0\n951782400\n946598400\n", Side::held_out, "int64", "share: 0.5"));
}

TEST_F(HoldOutGroupTest, OtherNumbersAreTheSameAsFloat32AndFloat64) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += cat(static_cast<double>(i) / 8 + 0.0625, '\n');
  const Lines held = rows(text, Side::held_out, "float32");
  EXPECT_GT(held.size(), 30u);
  EXPECT_EQ(rows(text, Side::held_out, "float64"), held);
  for (int seed = 0; seed < 20; ++seed) {
    const std::string options = cat("share: 0.5, seed: ", seed);
    EXPECT_EQ(rows("0\n-0\n0.0\n", Side::held_out, "float32", options).size() % 3, 0u) << "all of them are 0";
    EXPECT_EQ(rows("nan\n-nan\n", Side::held_out, "float64", options).size() % 2, 0u) << "one group";
  }
}

// As docs/input_graph.md says it.
TEST_F(HoldOutGroupTest, TheHashIsOfTheValuesEachWithAZeroByte) {
  const auto is_held_out = [](std::string_view bytes) {
    return philox64(3, fnv1a64("hold_out group"), fnv1a64(bytes)) < (uint64_t{1} << 63);
  };
  const std::string options = "share: 0.5, seed: 3";
  std::string text;
  Lines pairs, words, halves;
  for (int i = 0; i < 40; ++i) {
    const std::string a = cat(i), b = cat(i * 7 - 50);
    text += cat(a, ',', b, ",w", a, ',', i, ".5\n");
    if (is_held_out(a + '\0' + b + '\0')) pairs.push_back(cat(a, ',', b));
    if (is_held_out(cat('w', a) + '\0')) words.push_back(cat("\"w", a, '"'));
    const double half = i + 0.5;
    std::string bits(reinterpret_cast<const char*>(&half), sizeof half);
    if (is_held_out(bits + '\0')) halves.push_back(cat(half));
  }
  EXPECT_GT(pairs.size(), 5u);
  EXPECT_EQ(rows(text, Side::held_out, "int32", options, "0-1"), pairs);
  EXPECT_EQ(rows(text, Side::held_out, "string", options, "2"), words);
  EXPECT_EQ(rows(text, Side::held_out, "float32", options, "3"), halves);
}

TEST_F(HoldOutGroupTest, TheShareIsThatOfTheGroups) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += cat("customer ", i, '\n');
  for (const double share : {0.05, 0.2, 0.5}) {
    const size_t held = rows(text, Side::held_out, "string", cat("share: ", share)).size();
    EXPECT_NEAR(static_cast<double>(held) / 20000, share, 0.01);
  }
}

TEST_F(HoldOutGroupTest, ConcernsTheFieldAndNeedsIt) {
  const auto op = make_op<Transform>("hold_out", parse_yaml("{group: g}", "op"));
  EXPECT_EQ(op->concerned_fields(), std::vector<std::string>{"g"});
  EXPECT_EQ(make_op<Transform>("hold_out", Spec::map())->concerned_fields(), std::vector<std::string>());
  files_.files["t.csv"] = "1\n";
  EXPECT_NE(error_of([&] {
              rows("1\n", Side::held_out, "int32", "share: 0.2}\n- hold_out: {group: h");
            }).find("there is no field \"h\" in g: int32 (1)"),
            std::string::npos);
}

TEST_F(HoldOutTest, RefusesSharesThatHoldOutNothingOrAll) {
  for (const char* share : {"0", "1", "-0.5", "2", ".nan"}) {
    const std::string error = error_of([&] { rows(Side::trained, "a.csv", cat(": {share: ", share, '}')); });
    EXPECT_NE(error.find("more than 0 and less than 1"), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace millrace
