#include "millrace/trainer/delivery/batch_source.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "tests/trainer/delivery/watched_graph.h"

namespace millrace {
namespace {

TEST(BatchSource, WithoutAnExecutorAllTimeGoesIntoMaking) {
  BatchSource source(testing::chunks_watched([](Chunk&) {}), {}, 1);
  while (source.next() != nullptr) {
  }
  const DeliveryStatistics statistics = source.statistics();
  EXPECT_EQ(statistics.times.wait_seconds, 0);
  EXPECT_EQ(statistics.times.make_seconds, statistics.input.times.next_seconds);
  EXPECT_GT(statistics.times.make_seconds, 0);
}

TEST(BatchSource, WithOneWaitingIsApart) {
  Executor executor(2);
  BatchSource source(testing::chunks_watched([](Chunk&) {}), {.executor = &executor}, 1);
  while (source.next() != nullptr) {
  }
  const DeliveryStatistics statistics = source.statistics();
  EXPECT_EQ(statistics.times.wait_seconds, statistics.input.times.wait_seconds);
  EXPECT_EQ(statistics.times.make_seconds, statistics.input.times.next_seconds - statistics.input.times.wait_seconds);
}

TEST(BatchSource, KeepsABatchForAsManyCallsAsAsked) {
  BatchSource source(testing::batches_watched([](Chunk&) {}), {}, 3);
  EXPECT_EQ(source.kept(), 3);
  const RowBlock* const first = source.next();
  ASSERT_NE(first, nullptr);
  const RowId id = first->id(0);
  const RowBlock* const second = source.next();
  const RowBlock* const third = source.next();
  ASSERT_NE(third, nullptr);
  EXPECT_NE(second, first);
  EXPECT_NE(third, first);
  EXPECT_EQ(first->id(0), id);
  EXPECT_EQ(source.next(), first);
}

TEST(BatchSource, KeepsMoreBatchesForADeviceWhereTheyAreSmall) {
  const auto kept = [](Device reader, int64_t columns, std::optional<char> split = {}) {
    Port batches;
    batches.rows.fields.push_back({.name = "features", .shape = {columns}, .split = split});
    batches.batch_size = 256;
    return kept_for(reader, batches);
  };
  EXPECT_EQ(kept(Device::cpu(), 16), 1);
  EXPECT_EQ(kept(Device::cuda(0), 16), 8);
  EXPECT_EQ(kept(Device::cuda(0), 2048), 8) << "2 MiB";
  EXPECT_EQ(kept(Device::cuda(0), 2049), 3);
  EXPECT_EQ(kept(Device::cuda(0), 16, ' '), 3) << "nobody knows how large they are";
}

TEST(CopyBatch, ReplacesAllRowsAndIds) {
  Pipeline pipeline(testing::batches_watched([](Chunk&) {}), {});
  RowBlock from = pipeline.make_slot(), to = pipeline.make_slot();
  ASSERT_EQ(pipeline.next(to), 4);
  ASSERT_EQ(pipeline.next(from), 4);
  from.resize(3);
  copy_batch(from, to);
  ASSERT_EQ(to.size(), 3);
  for (int64_t row = 0; row < 3; ++row) {
    EXPECT_EQ(to.id(row), from.id(row));
    EXPECT_EQ(std::memcmp(to.at(0, row), from.at(0, row), 3 * sizeof(float)), 0);
  }
}

}  // namespace
}  // namespace millrace
