#include <memory>
#include <set>
#include <thread>

#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::add_counting_files;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::MemoryFiles;
using testing_support::reading;

class RepeatTest : public ::testing::Test {
 protected:
  RepeatTest() { add_counting_files(files_, 3, 2); }
  GraphCheck graph(const std::string& ops, int batch_size = 100) {
    return {files_, ops + cat("- batch: {batch_size: ", batch_size, ", allow_smaller_final_batch: true}\n")};
  }
  static std::string shuffled(const std::string& epochs) {
    return cat("- filename_queue: {files: \"*.csv\", epochs: ", epochs,
               "}\n- csv_reader\n- decode_csv: {fields: {x: {columns: 0, type: int32}}}\n");
  }
  MemoryFiles files_;
};

TEST_F(RepeatTest, RunsWhatIsBeforeItAgain) {
  EXPECT_EQ(graph(reading("b.csv") + "- repeat: {epochs: 3}\n", 4).check(),
            (Lines{"b.csv:1 x=101 y=50.5", "b.csv:2 x=102 y=51", "b.csv:1 x=101 y=50.5", "b.csv:2 x=102 y=51", "--",
                   "b.csv:1 x=101 y=50.5", "b.csv:2 x=102 y=51"}));
}

// As if the queue had read them so often itself: each pass has an order of its own.
TEST_F(RepeatTest, PassesGoOn) {
  const Lines once = graph(shuffled("12")).check();
  EXPECT_EQ(graph(shuffled("1") + "- repeat: {epochs: 12}\n").check(), once);
  EXPECT_EQ(graph(shuffled("3") + "- repeat: {epochs: 4}\n").check(), once);
  EXPECT_EQ(graph(shuffled("2") + "- repeat: {epochs: 3}\n- repeat: {name: again, epochs: 2}\n").check(), once);
  std::set<std::string> first_rows;
  for (size_t row = 0; row < once.size(); row += 5) first_rows.insert(once[row]);
  EXPECT_EQ(first_rows.size(), 2u) << "both orders come";
}

TEST_F(RepeatTest, IsEndlessByDefault) {
  const GraphCheck endless = graph(reading("b.csv") + "- repeat\n", 3);
  EXPECT_EQ(endless.check(40).size(), 40u * 3 + 39);
  EXPECT_EQ(endless.graph().endless_source(), "repeat");
}

TEST_F(RepeatTest, DataWithoutRowsCannotBeRepeatedForEver) {
  files_.files["b.csv"] = "";
  EXPECT_EQ(graph(reading("b.csv") + "- repeat: {epochs: 5}\n").check(), Lines{});
  const Lines lines = graph(reading("b.csv") + "- repeat\n").run();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].starts_with("error ")) << lines[0];
  EXPECT_NE(lines[0].find("repeat"), std::string::npos) << lines[0];
}

TEST_F(RepeatTest, NorDataOfWhichNoRowIsLeftBehindIt) {
  const std::string nothing = "- filter: {field: x, op: \"<\", value: 0}\n";
  for (const char* epochs : {"1", "3"}) {
    const Lines lines = graph(shuffled(epochs) + "- repeat\n" + nothing).check();
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_TRUE(lines[0].starts_with("error filter: the data has no row to give")) << lines[0];
  }
  EXPECT_EQ(graph(shuffled("2") + "- repeat: {epochs: 4}\n" + nothing).check(), Lines{});
}

// None of these comes to its end in a lifetime, and none pulls from a source while it goes on.
TEST_F(RepeatTest, CancelEndsWorkThatGivesNoRow) {
  const std::string billions = "- repeat: {epochs: 4000000000}\n";
  files_.files["empty.csv"] = "";
  for (const std::string& ops :
       {reading("empty.csv") + billions, reading("a.csv") + "- take: {rows: 0}\n" + billions,
        reading("a.csv") + "- filter: {field: x, op: \"<\", value: 0}\n" + billions,
        reading("a.csv") + "- cache\n" + billions + "- filter: {field: x, op: \"<\", value: 0}\n",
        reading("a.csv") + "- cache\n- repeat\n- skip: {rows: 90000000000}\n"}) {
    SCOPED_TRACE(ops);
    for (const int threads : {0, 2}) {
      std::unique_ptr<Executor> executor = threads == 0 ? nullptr : std::make_unique<Executor>(threads);
      Pipeline pipeline(graph(ops).graph(), {.executor = executor.get()});
      RowBlock slot = pipeline.make_slot();
      std::thread stopper([&] { pipeline.cancel(); });
      EXPECT_EQ(pipeline.next(slot), 0);
      stopper.join();
    }
  }
}

}  // namespace
}  // namespace millrace
