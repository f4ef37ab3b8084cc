#include "millrace/trainer/config/compare_options.h"

#include <gtest/gtest.h>

#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"

namespace millrace {
namespace {

CompareOptions read(const char* text) { return read_options<CompareOptions>(parse_yaml(text, "test.yaml")); }

TEST(CompareOptions, WithoutAnythingAreAllDeliveries) {
  const CompareOptions options = read("{}");
  ASSERT_EQ(options.deliveries.size(), 5u);
  EXPECT_EQ(options.deliveries.front().delivery.kind, DeliveryKind::feed);
  EXPECT_EQ(options.deliveries.back().delivery.kind, DeliveryKind::constant);
  EXPECT_EQ(options.rounds, 5);
  EXPECT_EQ(options.warm_up, 10);
}

TEST(CompareOptions, NameDeliveriesWithTheirKeys) {
  const CompareOptions options =
      read("rounds: 2\ndeliveries: [native, {kind: queue, capacity: 7, batch_size: 128, name: small}, {kind: feed}]\n");
  ASSERT_EQ(options.deliveries.size(), 3u);
  EXPECT_EQ(options.deliveries[0].delivery.kind, DeliveryKind::native);
  EXPECT_EQ(options.deliveries[1].delivery.capacity, 7);
  EXPECT_EQ(options.deliveries[1].batch_size, 128);
  EXPECT_EQ(options.deliveries[1].name, "small");
  EXPECT_EQ(to_yaml(write_options(options)),
            "deliveries: [native, {kind: queue, capacity: 7, batch_size: 128, name: small, workers: false}, feed]\n"
            "rounds: 2\nwarm_up: 10\n");
}

TEST(CompareOptions, RefuseWhatNoDeliveryIs) {
  EXPECT_THROW(read("deliveries: []"), ConfigError);
  EXPECT_THROW(read("deliveries: [remote]"), ConfigError);
  EXPECT_THROW(read("deliveries: [{kind: native, capacity: 5}]"), ConfigError);
  EXPECT_THROW(read("deliveries: [{kind: native, batch_size: 0}]"), ConfigError);
  EXPECT_THROW(read("rounds: 0"), ConfigError);
  EXPECT_THROW(read("delivery: native"), ConfigError);
}

}  // namespace
}  // namespace millrace
