#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "millrace/trainer/delivery/kinds.h"
#include "tests/trainer/delivery/watched_graph.h"

namespace millrace {
namespace {

constexpr DeliveryOptions kQueueOfThree = {.kind = DeliveryKind::queue, .capacity = 3};

// Whether it comes true within a minute.
template <class Predicate>
bool comes_true(const Predicate& predicate) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!predicate()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(QueueDelivery, WorksAheadUpToItsCapacity) {
  Executor executor(2);
  std::atomic<int> made{0};
  const auto delivery =
      make_queue(kQueueOfThree, testing::batches_watched([&](Chunk&) { ++made; }), {.executor = executor});
  EXPECT_EQ(delivery->queued(), 0);
  EXPECT_EQ(made.load(), 0);
  for (int taken = 1; taken <= 7; ++taken) {
    ASSERT_NE(delivery->next(), nullptr);
    ASSERT_TRUE(comes_true([&] { return delivery->queued() == 3; }));
    EXPECT_EQ(made.load(), taken + 3);
    EXPECT_EQ(delivery->summary().batches, static_cast<uint64_t>(taken));
  }
  const DeliveryStatistics statistics = delivery->statistics();
  EXPECT_EQ(statistics.capacity, 3);
  EXPECT_NEAR(statistics.mean_queued.value(), 6 * 3 / 7.0, 1e-9);  // the first call found none
  EXPECT_GT(statistics.times.copy_seconds, 0);
}

TEST(QueueDelivery, OfOneThreadMakesABatchWhenItIsAskedFor) {
  Executor executor(1);
  std::atomic<int> made{0};
  const auto delivery =
      make_queue(kQueueOfThree, testing::batches_watched([&](Chunk&) { ++made; }), {.executor = executor});
  for (int taken = 1; taken <= 10; ++taken) {
    ASSERT_NE(delivery->next(), nullptr);
    EXPECT_GE(made.load(), taken);
  }
  EXPECT_EQ(delivery->next(), nullptr);
}

TEST(QueueDelivery, TellsOfABatchWhenItGivesIt) {
  Executor executor(2);
  std::vector<std::string> lines;
  DeliveryArgs args{.executor = executor};
  args.pipeline.on_print = [&](std::string_view line) { lines.emplace_back(line); };
  args.pipeline.on_bad_row = [&](const BadRow& bad) { lines.push_back(bad.reason); };
  int number = 0;
  const auto tell = [&](Chunk& chunk) {
    chunk.notes.push_back({.kind = Note::Kind::print, .text = cat("batch ", ++number)});
  };
  const auto delivery = make_queue(kQueueOfThree, testing::batches_watched(tell), std::move(args));
  for (int taken = 1; taken <= 10; ++taken) {
    ASSERT_NE(delivery->next(), nullptr);
    ASSERT_TRUE(comes_true([&] { return delivery->queued() == std::min(3, 10 - taken); }));
    EXPECT_EQ(std::ssize(lines), taken);
    EXPECT_EQ(lines.back(), cat("batch ", taken));
  }
}

TEST(QueueDelivery, AnErrorComesBehindTheBatchesBeforeIt) {
  Executor executor(2);
  int number = 0;
  const auto fail = [&](Chunk& chunk) {
    if (++number == 5) chunk.fail(std::make_exception_ptr(DataError("the fifth")));
  };
  const auto delivery = make_queue(kQueueOfThree, testing::batches_watched(fail), {.executor = executor});
  for (int i = 0; i < 4; ++i) ASSERT_NE(delivery->next(), nullptr);
  for (int i = 0; i < 2; ++i) {
    try {
      delivery->next();
      FAIL();
    } catch (const DataError& error) {
      EXPECT_EQ(error.message(), "the fifth");
    }
  }
  EXPECT_EQ(number, 5);
}

TEST(QueueDelivery, WhatACallbackThrowsComesOutOfNextAndStays) {
  Executor executor(2);
  DeliveryArgs args{.executor = executor};
  args.pipeline.on_print = [](std::string_view) { throw DataError("enough"); };
  const auto delivery = make_queue(kQueueOfThree, testing::batches_watched([](Chunk& chunk) {
                                     chunk.notes.push_back({.kind = Note::Kind::print, .text = "x"});
                                   }),
                                   std::move(args));
  EXPECT_THROW(delivery->next(), DataError);
  EXPECT_THROW(delivery->next(), DataError);
}

TEST(QueueDelivery, StopEndsACallThatWaits) {
  for (const int threads : {1, 2}) {
    Executor executor(threads);
    std::atomic<bool> entered{false}, released{false};
    const auto block = [&](Chunk&) {
      entered = true;
      comes_true([&] { return released.load(); });
    };
    const auto delivery = make_queue(kQueueOfThree, testing::batches_watched(block), {.executor = executor});
    std::thread other([&] {
      comes_true([&] { return entered.load(); });
      delivery->stop();
      released = true;
    });
    EXPECT_EQ(delivery->next(), nullptr);
    other.join();
    EXPECT_EQ(delivery->next(), nullptr);
    EXPECT_EQ(delivery->summary().batches, 0u);
  }
}

TEST(QueueDelivery, MayGoInTheMiddle) {
  Executor executor(3);
  for (int taken = 0; taken < 5; ++taken) {
    const auto delivery = make_queue(kQueueOfThree, testing::chunks_watched([](Chunk&) {}), {.executor = executor});
    for (int i = 0; i < taken; ++i) ASSERT_NE(delivery->next(), nullptr);
  }
}

TEST(QueueDelivery, AtMostSoManyThreadsDecodeForIt) {
  Executor executor(4);
  for (const int64_t threads : {1, 2}) {
    std::atomic<int> now{0}, most{0};
    const auto watch = [&](Chunk&) {
      const int here = ++now;
      int seen = most.load();
      while (here > seen && !most.compare_exchange_weak(seen, here)) {
      }
      std::this_thread::yield();
      --now;
    };
    const auto delivery = make_queue({.kind = DeliveryKind::queue, .threads = threads}, testing::chunks_watched(watch),
                                     {.executor = executor});
    while (delivery->next() != nullptr) {
    }
    EXPECT_LE(most.load(), threads);
    EXPECT_GE(most.load(), 1);
  }
}

TEST(QueueDelivery, KeepsStatesOnlyWhereTheyAreAskedFor) {
  Executor executor(2);
  const auto delivery = make_queue(kQueueOfThree, testing::batches_watched([](Chunk&) {}), {.executor = executor});
  EXPECT_NO_THROW(delivery->save());
  delivery->next();
  try {
    delivery->save();
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_EQ(error.hint(), "set DeliveryArgs::saves");
  }
}

// Each state is saved into one of an earlier batch.
TEST(QueueDelivery, HasTheStateOfTheBatchThatItGave) {
  Executor executor(2);
  const auto graph = [] { return testing::batches_watched([](Chunk&) {}); };
  const auto delivery = make_queue(kQueueOfThree, graph(), {.executor = executor, .saves = true});
  Pipeline plain(graph(), {});
  RowBlock batch = plain.make_slot();
  for (int taken = 1; taken <= 10; ++taken) {
    ASSERT_NE(delivery->next(), nullptr);
    ASSERT_EQ(plain.next(batch), 4);
    EXPECT_EQ(delivery->save(), plain.save()) << taken;
  }
  EXPECT_EQ(delivery->next(), nullptr);
  EXPECT_EQ(plain.next(batch), 0);
  EXPECT_EQ(delivery->save(), plain.save());
}

TEST(StagingDelivery, SaysThatItIsAQueue) {
  Executor executor(2);
  const auto warnings = [&](DeliveryKind kind) {
    return make_queue({.kind = kind}, testing::batches_watched([](Chunk&) {}), {.executor = executor})->warnings();
  };
  EXPECT_THAT(warnings(DeliveryKind::staging),
              ::testing::ElementsAre("delivery staging works as queue: there is no device to copy batches to"));
  EXPECT_THAT(warnings(DeliveryKind::queue), ::testing::IsEmpty());
}

}  // namespace
}  // namespace millrace
