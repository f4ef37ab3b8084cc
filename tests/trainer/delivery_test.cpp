#include "millrace/trainer/delivery.h"

#include <gtest/gtest.h>

#include <cstring>

#include "millrace/input/catalog.h"
#include "millrace/trainer/yaml.h"

namespace millrace {
namespace {

InputGraph graph() {
  const Spec list =
      parse_yaml("- synthetic: {task: sum, features: 5, rows: 50}\n- batch: {batch_size: 8}\n", "test.yaml");
  return InputGraph::build(list, builtin_ops(), {.seed = 4});
}

TEST(Delivery, EveryKindGivesTheSameBatchesInAlignedRows) {
  Executor executor(2);
  const auto native = Delivery::make(graph(), {.kind = DeliveryKind::native, .executor = executor, .pipeline = {}});
  const auto feed = Delivery::make(graph(), {.kind = DeliveryKind::feed, .executor = executor, .pipeline = {}});
  int batches = 0;
  while (const RowBlock* batch = native->next()) {
    const RowBlock* fed = feed->next();
    ASSERT_NE(fed, nullptr);
    ASSERT_EQ(batch->size(), 8);
    ASSERT_EQ(fed->size(), 8);
    for (int64_t row = 0; row < 8; ++row) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(batch->at(0, row)) % kRowAlignment, 0u);
      EXPECT_EQ(std::memcmp(batch->at(0, row), fed->at(0, row), 5 * sizeof(float)), 0);
      EXPECT_EQ(batch->id(row), fed->id(row));
    }
    ++batches;
  }
  EXPECT_EQ(feed->next(), nullptr);
  EXPECT_EQ(batches, 6);
}

TEST(Delivery, StopEndsIt) {
  Executor executor(2);
  for (const DeliveryKind kind : {DeliveryKind::native, DeliveryKind::feed}) {
    const auto delivery = Delivery::make(graph(), {.kind = kind, .executor = executor, .pipeline = {}});
    EXPECT_NE(delivery->next(), nullptr);
    delivery->stop();
    delivery->stop();
    EXPECT_EQ(delivery->next(), nullptr);
  }
}

}  // namespace
}  // namespace millrace
