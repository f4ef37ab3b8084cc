#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/input/fake_rows.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::BatchRun;
using testing_support::error_of;
using testing_support::FakeRows;
using testing_support::make_op;
using Batches = std::vector<std::vector<int64_t>>;

Spec options(int64_t batch_size, bool smaller = false) {
  return Spec::map().set("batch_size", batch_size).set("allow_smaller_final_batch", smaller);
}

TEST(Batch, KeepsTheOrder) {
  FakeRows rows(10);
  BatchRun run("batch", options(4, true), rows);
  EXPECT_EQ(run.all(), (Batches{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}}));
  EXPECT_THAT(run.next(), IsEmpty());
  EXPECT_EQ(run.dropped(), 0u);
}

TEST(Batch, DropsAndCountsTheLastPartialBatch) {
  FakeRows rows(10);
  BatchRun run("batch", options(4), rows);
  EXPECT_EQ(run.all(), (Batches{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_THAT(run.next(), IsEmpty());
  EXPECT_EQ(run.dropped(), 2u);
  FakeRows even(8);
  BatchRun full("batch", options(4), even);
  EXPECT_EQ(full.all().size(), 2u);
  EXPECT_EQ(full.dropped(), 0u);
}

TEST(Batch, GivesNothingOfNothing) {
  FakeRows rows(0);
  EXPECT_THAT(BatchRun("batch", options(4, true), rows).all(), IsEmpty());
}

TEST(Batch, RaisesTheErrorOfARowInItsBatch) {
  FakeRows rows(10, 6);
  BatchRun run("batch", options(4, true), rows);
  EXPECT_THAT(run.next(), ElementsAre(0, 1, 2, 3));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(error_of([&] { run.next(); }), "row 6 is bad");
}

TEST(Batch, ComesInPiecesWhereRowsAreNotThereYet) {
  FakeRows rows(14);
  BatchRun run("batch", options(4, true), rows);
  run.op().give_pieces();
  rows.pauses = {0, 1, 3, 8, 9, 14};
  EXPECT_EQ(run.all(), (Batches{{0}, {1, 2}, {3}, {4, 5, 6, 7}, {8}, {9, 10, 11}, {12, 13}}));
  EXPECT_EQ(run.dropped(), 0u);
}

TEST(Batch, SaysWhichPiecesBeginABatch) {
  FakeRows rows(6);
  BatchRun run("batch", options(4, true), rows);
  run.op().give_pieces();
  rows.pauses = {0, 1, 3};
  std::vector<bool> begins;
  while (!run.next().empty()) begins.push_back(run.op().begins());
  EXPECT_EQ(begins, (std::vector<bool>{true, false, false, true}));
}

TEST(Batch, WaitsForRowsUnlessItMayGivePieces) {
  FakeRows rows(8);
  BatchRun run("batch", options(4, true), rows);
  rows.pauses = {0, 1, 3, 6};
  EXPECT_EQ(run.all(), (Batches{{0, 1, 2, 3}, {4, 5, 6, 7}}));
}

TEST(Batch, APieceEndsBeforeABadRow) {
  FakeRows rows(10, 6);
  BatchRun run("batch", options(4, true), rows);
  run.op().give_pieces();
  EXPECT_THAT(run.next(), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(run.next(), ElementsAre(4, 5));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(error_of([&] { run.next(); }), "row 6 is bad");
}

TEST(Batch, TakesNoRowBeforeItsBatch) {
  FakeRows rows(100);
  BatchRun run("batch", options(7), rows);
  for (int64_t i = 1; i < 5; ++i) {
    run.next();
    EXPECT_EQ(rows.at(), 7 * i);
  }
}

TEST(Batch, GoesOnFromEverySavedState) {
  FakeRows rows(41);
  const Batches all = BatchRun("batch", options(4), rows).all();
  for (size_t batches = 0; batches <= all.size() + 1; ++batches) {
    FakeRows before(41), after(41);
    BatchRun first("batch", options(4), before);
    for (size_t i = 0; i < batches; ++i) first.next();
    BatchRun second("batch", options(4), after);
    second.restore(first.save());
    EXPECT_EQ(second.save(), first.save());
    EXPECT_EQ(second.all(), Batches(all.begin() + static_cast<ptrdiff_t>(std::min(batches, all.size())), all.end()));
    EXPECT_EQ(second.dropped(), 1u);
  }
}

TEST(Batch, LooksAheadByItsCapacity) {
  EXPECT_EQ(make_op<BatchBuffer>("batch", options(8))->ahead().rows, 16);
  EXPECT_EQ(make_op<BatchBuffer>("batch", options(8).set("threads", 3))->ahead().rows, 32);
  EXPECT_EQ(make_op<BatchBuffer>("batch", options(8).set("threads", 3))->ahead().threads, 3);
  EXPECT_EQ(make_op<BatchBuffer>("batch", options(8).set("capacity", 5))->ahead().rows, 5);
}

TEST(Batch, SaysWhatItMakes) {
  FakeRows rows(1);
  BatchRun run("batch", options(3), rows);
  EXPECT_EQ(run.port().type, PortType::batches);
  EXPECT_EQ(run.port().batch_size, 3);
  EXPECT_EQ(run.port().rows, FakeRows::spec());
}

TEST(Batch, RefusesOptionsThatMakeNoSense) {
  const auto make_error = [](const Spec& with) { return error_of([&] { make_op<BatchBuffer>("batch", with); }); };
  EXPECT_THAT(make_error(Spec::map()), HasSubstr("the key batch_size is required"));
  EXPECT_THAT(make_error(options(0)), HasSubstr("batch_size: expected at least 1"));
  EXPECT_THAT(make_error(options(1).set("capacity", 0)), HasSubstr("capacity: expected at least 1"));
  EXPECT_THAT(make_error(options(1).set("min_after_dequeue", 1)), HasSubstr("unknown key min_after_dequeue"));
}

}  // namespace
}  // namespace millrace
