#include "millrace/trainer/delivery/delivery.h"

#include <gtest/gtest.h>

#include <cstring>

#include "millrace/input/catalog.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"

namespace millrace {
namespace {

// Those that give all batches.
constexpr DeliveryKind kKinds[] = {DeliveryKind::automatic, DeliveryKind::native, DeliveryKind::feed,
                                   DeliveryKind::queue, DeliveryKind::staging};

InputGraph graph() {
  const Spec list =
      parse_yaml("- synthetic: {task: sum, features: 5, rows: 50}\n- batch: {batch_size: 8}\n", "test.yaml");
  return InputGraph::build(list, builtin_ops(), {.seed = 4});
}

std::unique_ptr<Delivery> make(DeliveryKind kind, Executor& executor) {
  return Delivery::make({.kind = kind}, graph(), {.executor = executor, .saves = true});
}

void expect_equal(const RowBlock& batch, const RowBlock& other) {
  ASSERT_EQ(batch.size(), other.size());
  for (int64_t row = 0; row < batch.size(); ++row) {
    EXPECT_EQ(std::memcmp(batch.at(0, row), other.at(0, row), 5 * sizeof(float)), 0);
    EXPECT_EQ(batch.id(row), other.id(row));
  }
}

TEST(Delivery, EveryKindGivesTheSameBatchesInAlignedRows) {
  for (const int threads : {1, 2, 3}) {
    Executor executor(threads);
    for (const DeliveryKind kind : kKinds) {
      const auto native = make(DeliveryKind::native, executor), other = make(kind, executor);
      for (int i = 0; i < 6; ++i) {
        const RowBlock *expected = native->next(), *batch = other->next();
        ASSERT_NE(batch, nullptr);
        ASSERT_EQ(batch->size(), 8);
        expect_equal(*batch, *expected);
        for (int64_t row = 0; row < 8; ++row) {
          EXPECT_EQ(reinterpret_cast<uintptr_t>(batch->at(0, row)) % kRowAlignment, 0u);
        }
      }
      EXPECT_EQ(other->next(), nullptr);
      EXPECT_EQ(other->next(), nullptr);
    }
  }
}

TEST(Delivery, SpeaksOfTheBatchesThatItGave) {
  Executor executor(2);
  for (const DeliveryKind kind : kKinds) {
    const auto delivery = make(kind, executor);
    EXPECT_EQ(delivery->summary().batches, 0u);
    delivery->next();
    const RowBlock* batch = delivery->next();
    ASSERT_NE(batch, nullptr);
    EXPECT_EQ(delivery->summary().batches, 2u);
    EXPECT_EQ(delivery->summary().rows, 16u);
    EXPECT_NEAR(delivery->share().value_or(0), 16 / 50.0, 1e-9);
    EXPECT_EQ(delivery->share(), delivery->summary().share);
    EXPECT_EQ(delivery->place(batch->id(3)).text(), "synthetic:12");
    EXPECT_EQ(delivery->graph().output().batch_size, 8);
    const DeliveryStatistics statistics = delivery->statistics();
    ASSERT_FALSE(statistics.input.ops.empty());
    EXPECT_GE(statistics.input.ops.back().rows, 16u);
    EXPECT_GT(statistics.times.make_seconds + statistics.times.wait_seconds, 0);
    while (delivery->next() != nullptr) {
    }
    ASSERT_EQ(delivery->summary().dropped.size(), 1u);
    EXPECT_EQ(delivery->summary().dropped[0].rows, 2u);
  }
}

TEST(Delivery, AnyKindGoesOnWhereAnyOtherWasSaved) {
  Executor executor(2);
  for (const DeliveryKind saved : kKinds) {
    for (const DeliveryKind restored : kKinds) {
      const auto first = make(saved, executor), second = make(restored, executor);
      for (int i = 0; i < 3; ++i) ASSERT_NE(first->next(), nullptr);
      second->restore(first->save());
      EXPECT_EQ(second->summary().batches, 3u);
      const RowBlock* expected = first->next();
      const RowBlock* batch = second->next();
      ASSERT_NE(expected, nullptr);
      ASSERT_NE(batch, nullptr);
      expect_equal(*batch, *expected);
    }
  }
}

TEST(Delivery, StopEndsIt) {
  Executor executor(2);
  for (const DeliveryKind kind : kKinds) {
    const auto delivery = make(kind, executor);
    EXPECT_NE(delivery->next(), nullptr);
    delivery->stop();
    delivery->stop();
    EXPECT_EQ(delivery->next(), nullptr);
  }
}

TEST(Delivery, CountsItsBatchesAsMemory) {
  Executor executor(2);
  const uint64_t slot = 8 * (graph().output().rows.row_bytes() + sizeof(RowId));
  EXPECT_EQ(make(DeliveryKind::native, executor)->memory_bound(), graph().memory_bound(2) + slot);
  EXPECT_EQ(make(DeliveryKind::feed, executor)->memory_bound(), graph().memory_bound(1) + 2 * slot);
  EXPECT_EQ(make(DeliveryKind::queue, executor)->memory_bound(), graph().memory_bound(2) + 6 * slot);
}

TEST(DeliveryOptions, AreAKindOrAMap) {
  const auto read = [](const char* text) {
    return OptionType<DeliveryOptions>::read(parse_yaml(text, "test.yaml")).kind;
  };
  EXPECT_EQ(DeliveryOptions{}.kind, DeliveryKind::automatic);
  EXPECT_EQ(read("auto"), DeliveryKind::automatic);
  EXPECT_EQ(read("feed"), DeliveryKind::feed);
  EXPECT_EQ(read("queue"), DeliveryKind::queue);
  EXPECT_EQ(read("{kind: queue, capacity: 5, threads: 2}"), DeliveryKind::queue);
  EXPECT_EQ(read("{kind: native}"), DeliveryKind::native);
  EXPECT_THROW(read("{kind: native, threads: 2}"), ConfigError);
  EXPECT_THROW(read("{kind: queue, capacity: 0}"), ConfigError);
  EXPECT_THROW(read("remote"), ConfigError);
}

TEST(DeliveryOptions, TellBothWaysOfWritingThem) {
  const std::vector<OptionForm> forms = OptionType<DeliveryOptions>::forms();
  ASSERT_EQ(forms.size(), 2u);
  EXPECT_EQ(forms[0].names, (std::vector<std::string>{"auto", "native", "staging", "queue", "feed", "constant"}));
  ASSERT_EQ(forms[1].options.size(), 3u);
  EXPECT_EQ(forms[1].options[0].name, "kind");
}

TEST(DeliveryOptions, AreWrittenWithTheirDefaults) {
  const auto resolved = [](const char* text) {
    return to_yaml(OptionType<DeliveryOptions>::write(OptionType<DeliveryOptions>::read(parse_yaml(text, "f.yaml"))));
  };
  EXPECT_EQ(resolved("auto"), "auto\n");
  EXPECT_EQ(resolved("{kind: feed}"), "feed\n");
  EXPECT_EQ(resolved("queue"), "kind: queue\ncapacity: 5\n");
  EXPECT_EQ(resolved("{kind: staging, threads: 3}"), "kind: staging\ncapacity: 5\nthreads: 3\n");
}

}  // namespace
}  // namespace millrace
