#include <algorithm>

#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::list_of;
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

TEST_F(HoldOutTest, RefusesSharesThatHoldOutNothingOrAll) {
  for (const char* share : {"0", "1", "-0.5", "2", ".nan"}) {
    const std::string error = error_of([&] { rows(Side::trained, "a.csv", cat(": {share: ", share, '}')); });
    EXPECT_NE(error.find("more than 0 and less than 1"), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace millrace
