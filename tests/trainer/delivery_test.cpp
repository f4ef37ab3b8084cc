#include "millrace/trainer/delivery.h"

#include <gtest/gtest.h>

#include <cstring>

#include "millrace/input/catalog.h"
#include "millrace/trainer/yaml.h"

namespace millrace {
namespace {

constexpr DeliveryKind kKinds[] = {DeliveryKind::automatic, DeliveryKind::native, DeliveryKind::feed};

InputGraph graph() {
  const Spec list =
      parse_yaml("- synthetic: {task: sum, features: 5, rows: 50}\n- batch: {batch_size: 8}\n", "test.yaml");
  return InputGraph::build(list, builtin_ops(), {.seed = 4});
}

std::unique_ptr<Delivery> make(DeliveryKind kind, Executor& executor) {
  return Delivery::make({.kind = kind}, graph(), {.executor = executor});
}

void expect_equal(const RowBlock& batch, const RowBlock& other) {
  ASSERT_EQ(batch.size(), other.size());
  for (int64_t row = 0; row < batch.size(); ++row) {
    EXPECT_EQ(std::memcmp(batch.at(0, row), other.at(0, row), 5 * sizeof(float)), 0);
    EXPECT_EQ(batch.id(row), other.id(row));
  }
}

TEST(Delivery, EveryKindGivesTheSameBatchesInAlignedRows) {
  Executor executor(2);
  const auto native = make(DeliveryKind::native, executor), feed = make(DeliveryKind::feed, executor);
  int batches = 0;
  while (const RowBlock* batch = native->next()) {
    const RowBlock* fed = feed->next();
    ASSERT_NE(fed, nullptr);
    ASSERT_EQ(batch->size(), 8);
    expect_equal(*batch, *fed);
    for (int64_t row = 0; row < 8; ++row) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(batch->at(0, row)) % kRowAlignment, 0u);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(fed->at(0, row)) % kRowAlignment, 0u);
    }
    ++batches;
  }
  EXPECT_EQ(feed->next(), nullptr);
  EXPECT_EQ(batches, 6);
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
    EXPECT_EQ(delivery->place(batch->id(3)).text(), "synthetic:12");
    EXPECT_EQ(delivery->graph().output().batch_size, 8);
    ASSERT_FALSE(delivery->statistics().ops.empty());
    EXPECT_GE(delivery->statistics().ops.back().rows, 16u);
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
}

TEST(DeliveryOptions, AreAKindOrAMap) {
  const auto read = [](const char* text) {
    return OptionType<DeliveryOptions>::read(parse_yaml(text, "test.yaml")).kind;
  };
  EXPECT_EQ(DeliveryOptions{}.kind, DeliveryKind::automatic);
  EXPECT_EQ(read("auto"), DeliveryKind::automatic);
  EXPECT_EQ(read("feed"), DeliveryKind::feed);
  EXPECT_EQ(read("{kind: native}"), DeliveryKind::native);
  EXPECT_THROW(read("{kind: native, threads: 2}"), ConfigError);
  EXPECT_THROW(read("queue"), ConfigError);
}

TEST(DeliveryOptions, TellBothWaysOfWritingThem) {
  const std::vector<OptionForm> forms = OptionType<DeliveryOptions>::forms();
  ASSERT_EQ(forms.size(), 2u);
  EXPECT_EQ(forms[0].names, (std::vector<std::string>{"auto", "native", "feed"}));
  EXPECT_EQ(forms[1].options.at(0).name, "kind");
}

}  // namespace
}  // namespace millrace
