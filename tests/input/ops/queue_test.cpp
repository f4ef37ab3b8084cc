#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::add_counting_files;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::MemoryFiles;
using testing_support::reading;

class QueueTest : public ::testing::Test {
 protected:
  QueueTest() { add_counting_files(files_, 40, 0); }
  GraphCheck graph(const std::string& before_batch, const std::string& behind_batch = {}) {
    return {files_, reading("a.csv") + before_batch +
                        "- batch: {batch_size: 3, capacity: 3, allow_smaller_final_batch: true}\n" + behind_batch};
  }
  MemoryFiles files_;
};

TEST_F(QueueTest, ChangesNoRow) {
  const Lines plain = graph("").check();
  EXPECT_EQ(plain.size(), 40u + 13u);
  EXPECT_EQ(graph("- queue\n").check(), plain);
  EXPECT_EQ(graph("- queue: {capacity: 1}\n- map: {field: x}\n- queue: {name: q, capacity: 7, threads: 3}\n").check(),
            plain);
  EXPECT_EQ(graph("", "- queue: {capacity: 5, threads: 2}\n").check(), plain);
  EXPECT_EQ(graph("- take: {rows: 1000}\n- queue: {capacity: 9}\n").check(), plain);
}

// What may wait is what costs memory.
TEST_F(QueueTest, LetsSoManyMoreRowsWait) {
  const auto bound = [&](const GraphCheck& check) { return check.graph().memory_bound(1); };
  const uint64_t plain = bound(graph("")), few = bound(graph("- queue: {capacity: 100}\n"));
  const uint64_t many = bound(graph("- queue: {capacity: 1100}\n"));
  EXPECT_GT(few, plain);
  EXPECT_EQ((many - few) % 1000, 0u);
  EXPECT_EQ(bound(graph("- take: {rows: 1000}\n- queue: {capacity: 1100}\n")) -
                bound(graph("- take: {rows: 1000}\n- queue: {capacity: 100}\n")),
            many - few);
  EXPECT_EQ(bound(graph("", "- queue: {capacity: 1100}\n")) - bound(graph("", "- queue: {capacity: 100}\n")),
            3 * (many - few))
      << "batches of 3 rows";
}

// How full it was, and of what.
TEST_F(QueueTest, SaysHowManyRowsWaited) {
  const auto statistics = [&](const GraphCheck& check, const std::string& name) {
    Executor executor(2);
    Pipeline pipeline(check.graph(), {.executor = &executor});
    RowBlock slot = pipeline.make_slot();
    while (pipeline.next(slot) > 0) {
    }
    for (const OpStatistics& op : pipeline.statistics().ops) {
      if (op.name == name) return op;
    }
    return OpStatistics();
  };
  const OpStatistics queue = statistics(graph("- queue: {capacity: 10}\n"), "queue");
  EXPECT_EQ(queue.capacity, 13u) << "those of the batch, too";
  EXPECT_EQ(queue.held, 0u) << "at the end";
  ASSERT_TRUE(queue.mean_held);
  EXPECT_GE(*queue.mean_held, 0);
  const OpStatistics batch = statistics(graph(""), "batch");
  EXPECT_EQ(batch.capacity, 3u);
  EXPECT_TRUE(batch.mean_held);
}

TEST_F(QueueTest, ItsSizeIsNoPartOfAState) {
  const GraphCheck small = graph("- queue: {capacity: 1}\n"), large = graph("- queue: {capacity: 50, threads: 4}\n");
  Pipeline from(small.graph(), {}), to(large.graph(), {});
  RowBlock slot = from.make_slot();
  from.next(slot);
  to.restore(from.save());
  from.next(slot);
  RowBlock other = to.make_slot();
  to.next(other);
  EXPECT_EQ(other.id(0), slot.id(0));
}

}  // namespace
}  // namespace millrace
