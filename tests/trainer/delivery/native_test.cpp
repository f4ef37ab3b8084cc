#include <gtest/gtest.h>

#include "millrace/input/catalog.h"
#include "millrace/trainer/delivery/kinds.h"
#include "millrace/trainer/files/yaml.h"

namespace millrace {
namespace {

TEST(NativeDelivery, GivesTheBatchThatTheGraphWroteInto) {
  Executor executor(2);
  const Spec list = parse_yaml("- synthetic: {features: 3, rows: 20}\n- batch: {batch_size: 4}\n", "test.yaml");
  const auto delivery = make_native(InputGraph::build(list, builtin_ops(), {}), {.executor = executor});
  const RowBlock* first = delivery->next();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(delivery->next(), first);
  const DeliveryStatistics statistics = delivery->statistics();
  EXPECT_EQ(statistics.times.copy_seconds, 0);
  EXPECT_FALSE(statistics.mean_queued);
  EXPECT_EQ(delivery->queued(), 0);
  EXPECT_NEAR(statistics.times.make_seconds + statistics.times.wait_seconds, statistics.input.times.next_seconds, 1e-9);
}

}  // namespace
}  // namespace millrace
