#include "millrace/input/run/chunk_scheduler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "tests/input/graph/fake_ops.h"
#include "tests/input/graph/fake_text.h"

namespace millrace {
namespace {

using fake::IntegerOptions;
using fake::Integers;
using fake::Step;
using fake::StepOptions;
using fake::value;

// A scheduler of integers behind one step.
template <class Source>
struct HarnessOf {
  explicit HarnessOf(IntegerOptions integers, StepOptions step_options = {})
      : source(integers),
        step(step_options),
        port{.type = PortType::rows, .format = {}, .rows = fake::integer_rows()},
        chain(PortType::none, {{.transform = &source.producer(), .name = "integers", .output = port},
                               {.transform = &step, .name = "step", .output = port}}),
        scheduler(source, chain, false) {}

  // All values in order, until the end. If it `asks`, it first asks whether they have to be waited for.
  std::vector<int64_t> read(Executor* executor, int64_t consumer_spin = 0, bool asks = false) {
    std::vector<int64_t> out;
    const auto body = [&] {
      for (;;) {
        if (asks) waited += scheduler.waits_for_data() ? 1 : 0;
        const ChunkSlot* const ready = scheduler.next();
        if (ready == nullptr) break;
        for (int64_t row = 0; row < ready->chunk.rows.size(); ++row) out.push_back(value(ready->chunk.rows, row));
        fake::spin(out.size(), consumer_spin);
      }
    };
    if (executor != nullptr) {
      executor->run(body);
    } else {
      body();
    }
    return out;
  }

  Source source;
  Step step;
  Port port;
  TransformChain chain;
  int64_t waited = 0;  // how often read() had to
  ChunkScheduler scheduler;
};
using Harness = HarnessOf<Integers>;

// Units that do something else when they are asked.
struct Watched : Integers {
  using Integers::Integers;
  bool next(Unit& unit) override {
    if (on_next) on_next();
    return Integers::next(unit);
  }
  bool ready() noexcept override { return !on_ready || on_ready(); }
  void set_wake(const std::function<void()>& given) override { wake = given; }

  std::function<void()> on_next, wake;
  std::function<bool()> on_ready;
};
using WatchedHarness = HarnessOf<Watched>;

std::vector<int64_t> counted(int64_t rows, int64_t passes = 1) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < rows * passes; ++i) out.push_back(i % rows);
  return out;
}

TEST(ChunkScheduler, GivesChunksInOrderWhateverTheThreadsAndTheRoom) {
  for (int threads : {0, 1, 2, 3, 8}) {
    const auto executor = threads > 0 ? std::make_unique<Executor>(threads) : nullptr;
    for (int64_t ahead : {0, 1, 30, 5000}) {
      for (int64_t unit_rows : {1, 7, 1000}) {
        Harness harness({.rows = 300, .unit_rows = unit_rows, .passes = 3, .spin = 3000});
        harness.scheduler.start(executor.get(), {ahead, 0});
        EXPECT_EQ(harness.read(executor.get(), 1000), counted(300, 3)) << threads << ' ' << ahead << ' ' << unit_rows;
      }
    }
  }
}

TEST(ChunkScheduler, RunsOnAsManyThreadsAsItMay) {
  for (int threads : {1, 2, 3, 8}) {
    Executor executor(threads);
    Harness harness({.rows = 200, .unit_rows = 1});
    harness.scheduler.start(&executor, {});
    std::mutex mutex;
    std::condition_variable changed;
    std::set<std::thread::id> seen;  // guarded by mutex
    harness.source.on_task([&](const Unit&) {
      std::unique_lock lock(mutex);
      seen.insert(std::this_thread::get_id());
      changed.notify_all();
      changed.wait_for(lock, std::chrono::seconds(20), [&] { return static_cast<int>(seen.size()) == threads; });
    });
    EXPECT_EQ(harness.read(&executor).size(), 200u);
    EXPECT_EQ(static_cast<int>(seen.size()), threads);
  }
}

TEST(ChunkScheduler, NeverRunsMoreTasksThanItMay) {
  Executor executor(8);
  for (int limit : {1, 2, 5}) {
    Harness harness({.rows = 500, .unit_rows = 2, .spin = 2000});
    harness.scheduler.start(&executor, {100, limit});
    std::atomic<int> running{0}, most{0};
    harness.source.on_task([&](const Unit& unit) {
      const int now = ++running;
      int seen = most.load();
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      fake::spin(unit.begin, 5000);
      --running;
    });
    EXPECT_EQ(harness.read(&executor).size(), 500u);
    EXPECT_LE(most.load(), limit);
  }
}

TEST(ChunkScheduler, BoundsWhatWaits) {
  Executor executor(3);
  for (int64_t ahead : {0, 20}) {
    Harness harness({.rows = 3000, .unit_rows = 1});
    harness.scheduler.start(&executor, {ahead, 2});
    EXPECT_EQ(harness.read(&executor, 20000).size(), 3000u);
    EXPECT_LE(harness.scheduler.held().chunks, static_cast<size_t>(ahead) + 3);
  }
}

TEST(ChunkScheduler, CountsHowLongItHadNoRoom) {
  Executor executor(2);
  Harness harness({.rows = 3000, .unit_rows = 1});
  harness.scheduler.start(&executor, {});
  EXPECT_EQ(harness.scheduler.blocked_nanoseconds(), 0u);
  executor.run([&] { ASSERT_TRUE(harness.scheduler.next()); });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (harness.scheduler.blocked_nanoseconds() < 1000000 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  const uint64_t blocked = harness.scheduler.blocked_nanoseconds();
  EXPECT_GE(blocked, 1000000u);
  harness.read(&executor);
  const uint64_t in_all = harness.scheduler.blocked_nanoseconds();
  EXPECT_GE(in_all, blocked);
  EXPECT_EQ(harness.scheduler.blocked_nanoseconds(), in_all) << "it has ended";
}

// Once the largest chunk was seen every chunk has its memory, whatever it is used for next.
TEST(ChunkScheduler, GivesAllChunksTheSameMemory) {
  Executor executor(2);
  Harness harness({.rows = 100000, .unit_rows = 10});
  harness.scheduler.start(&executor, {95, 2});
  executor.run([&] {
    for (int chunk = 0; chunk < 100; ++chunk) ASSERT_TRUE(harness.scheduler.next());
    const ChunkSlots::Held held = harness.scheduler.held();
    EXPECT_EQ(held.chunks, 13u);
    const size_t block = held.bytes / held.chunks;
    EXPECT_GE(block, 10 * (64 + sizeof(RowId)));
    for (int chunk = 0; chunk < 1000; ++chunk) {
      ASSERT_TRUE(harness.scheduler.next());
      ASSERT_EQ(harness.scheduler.held().bytes, held.bytes);
    }
  });
}

TEST(ChunkScheduler, GivesMemoryBackAfterChunksOfUnequalSize) {
  // Long runs of small units, then long runs of large ones: every slot meets both.
  class Uneven : public Integers {
   public:
    using Integers::Integers;
    bool next(Unit& unit) override {
      if (at_ >= 200000) return false;
      unit = {};
      unit.exact = true;
      unit.begin = at_;
      const bool large = (at_ / 4000) % 2 == 1;
      unit.end = at_ + (large ? 400 : 1);
      at_ = unit.end;
      return true;
    }

   private:
    uint64_t at_ = 0;
  };
  Executor executor(2);
  Uneven source(IntegerOptions{});
  const Port port = {.type = PortType::rows, .format = {}, .rows = fake::integer_rows()};
  const TransformChain chain(PortType::none, {{.transform = &source.producer(), .name = "integers", .output = port}});
  ChunkScheduler scheduler(source, chain, false);
  scheduler.start(&executor, {100, 2});
  const size_t row_bytes = 64 + sizeof(RowId);
  executor.run([&] {
    int64_t next = 0;
    while (const ChunkSlot* ready = scheduler.next()) {
      for (int64_t row = 0; row < ready->chunk.rows.size(); ++row) ASSERT_EQ(value(ready->chunk.rows, row), next++);
      ASSERT_LE(scheduler.held().bytes, (100 + 2 * 5 * 400) * row_bytes);
    }
    EXPECT_GE(next, 200000);
  });
}

TEST(ChunkScheduler, AFailureOutsideTheDataIsToldAtOnceAndAgain) {
  for (int threads : {0, 1, 4}) {
    const auto executor = threads > 0 ? std::make_unique<Executor>(threads) : nullptr;
    Harness harness({.rows = 1000, .unit_rows = 5}, {.throw_at = 60});
    harness.scheduler.start(executor.get(), {});
    for (int round = 0; round < 3; ++round) {
      try {
        harness.read(executor.get());
        FAIL();
      } catch (const InternalError& error) {
        EXPECT_STREQ(error.what(), "step: cannot bear 60");
      }
    }
    EXPECT_THROW(harness.scheduler.check(), InternalError);
  }
}

TEST(ChunkScheduler, AFailureWakesTheWaitingConsumer) {
  for (int round = 0; round < 20; ++round) {
    // Before the harness, whose tasks use them until it is gone.
    std::atomic<bool> told{false};
    const std::thread::id consumer = std::this_thread::get_id();
    Executor executor(3);
    Harness harness({.rows = 100, .unit_rows = 1}, {.io_error_at = 1});
    harness.scheduler.start(&executor, {});
    // The first task goes on until the failure of the second has been told, unless the consumer itself runs it.
    harness.source.on_task([&](const Unit& unit) {
      while (unit.begin == 0 && std::this_thread::get_id() != consumer && !told) std::this_thread::yield();
    });
    EXPECT_THROW(executor.run([&] {
      harness.scheduler.next();
      harness.scheduler.next();
      harness.scheduler.next();
    }),
                 IoError);
    told = true;
  }
}

TEST(ChunkScheduler, CancelWakesTheWaitingConsumer) {
  for (int round = 0; round < 20; ++round) {
    // Before the harness, whose tasks use them until it is gone.
    std::atomic<bool> begun{false}, back{false};
    const std::thread::id consumer = std::this_thread::get_id();
    Executor executor(3);
    Harness harness({.rows = 100, .unit_rows = 1});
    harness.scheduler.start(&executor, {});
    harness.source.on_task([&](const Unit&) {
      begun = true;
      while (std::this_thread::get_id() != consumer && !back) std::this_thread::yield();
    });
    std::thread canceller([&] {
      while (!begun) std::this_thread::yield();
      harness.scheduler.cancel();
      harness.scheduler.cancel();
    });
    executor.run([&] {
      while (harness.scheduler.next()) {
      }
    });
    back = true;
    canceller.join();
    EXPECT_TRUE(harness.scheduler.cancelled());
    EXPECT_FALSE(harness.scheduler.next());
  }
}

TEST(ChunkScheduler, HoldsNoLockWhileTheUnitsAreAsked) {
  for (int threads : {0, 1, 3}) {
    const auto executor = threads > 0 ? std::make_unique<Executor>(threads) : nullptr;
    WatchedHarness harness({.rows = 100, .unit_rows = 4});
    const auto look = [&] {
      std::thread other([&] {
        harness.scheduler.wake();
        harness.scheduler.held();
        harness.scheduler.rows_held();
        harness.scheduler.blocked_nanoseconds();
        harness.scheduler.work();
      });
      other.join();
      harness.scheduler.wake();
      return true;
    };
    harness.source.on_next = look;
    harness.source.on_ready = look;
    harness.scheduler.start(executor.get(), {30, 0});
    EXPECT_EQ(harness.read(executor.get(), 0, true), counted(100)) << threads;
  }
}

TEST(ChunkScheduler, IsCancelledFromInsideTheUnits) {
  for (int threads : {0, 1, 3}) {
    for (const bool apart : {false, true}) {
      const auto executor = threads > 0 ? std::make_unique<Executor>(threads) : nullptr;
      WatchedHarness harness({.rows = 1000, .unit_rows = 4});
      std::atomic<int> calls{0};
      harness.source.on_next = [&] {
        if (++calls != 20) return;
        if (!apart) return harness.scheduler.cancel();
        std::thread([&] { harness.scheduler.cancel(); }).join();
      };
      harness.scheduler.start(executor.get(), {});
      EXPECT_LT(harness.read(executor.get()).size(), 1000u);
      EXPECT_EQ(calls, 20) << "nobody asks after that";
    }
  }
}

// The answer is out of date when it comes.
TEST(ChunkScheduler, AWakeWhileTheUnitsAreAskedIsNotLost) {
  for (int threads : {1, 2, 5}) {
    Executor executor(threads);
    WatchedHarness harness({.rows = 500, .unit_rows = 3});
    bool ready = false;
    harness.source.on_ready = [&] {
      ready = !ready;
      if (!ready) std::thread([&] { harness.source.wake(); }).join();
      return ready;
    };
    harness.scheduler.start(&executor, {20, 0});
    EXPECT_EQ(harness.read(&executor), counted(500)) << threads;
  }
}

// Also if the consumer asks before it takes a chunk.
TEST(ChunkScheduler, UnitsThatAreReadyLaterWakeIt) {
  for (const bool asks : {false, true}) {
    for (int threads : {1, 2, 5}) {
      Executor executor(threads);
      WatchedHarness harness({.rows = 500, .unit_rows = asks ? 1U : 3U});
      std::atomic<int> there{0};  // units that may be asked for
      std::atomic<bool> over{false};
      harness.source.on_ready = [&] {
        if (asks) std::this_thread::yield();
        return there > 0;
      };
      harness.source.on_next = [&] { --there; };
      harness.scheduler.start(&executor, {20, 0});
      std::thread feeder([&] {
        while (!over) {
          if (there == 0) {
            ++there;
            harness.source.wake();
          }
          std::this_thread::yield();
        }
      });
      EXPECT_EQ(harness.read(&executor, 0, asks), counted(500)) << threads;
      over = true;
      feeder.join();
    }
  }
}

TEST(ChunkScheduler, OneThreadAtATimeAsksTheUnits) {
  Executor executor(8);
  WatchedHarness harness({.rows = 5000, .unit_rows = 1});
  std::atomic<int> inside{0}, together{0};
  const auto enter = [&] {
    if (++inside > 1) ++together;
    std::this_thread::yield();
    --inside;
    return true;
  };
  harness.source.on_next = enter;
  harness.source.on_ready = enter;
  harness.scheduler.start(&executor, {50, 0});
  EXPECT_EQ(harness.read(&executor, 1000), counted(5000));
  EXPECT_EQ(together, 0);
}

// Between two chunks the consumer asks whether there are data, while tasks plan.
TEST(ChunkScheduler, TheConsumerAsksTheUnitsInItsTurn) {
  for (int threads : {1, 2, 8}) {
    Executor executor(threads);
    WatchedHarness harness({.rows = 500, .unit_rows = 1});
    std::atomic<int> inside{0}, together{0};
    const auto enter = [&] {
      if (++inside > 1) ++together;
      for (int i = 0; i < 3; ++i) std::this_thread::yield();
      --inside;
      return true;
    };
    harness.source.on_next = enter;
    harness.source.on_ready = enter;
    harness.scheduler.start(&executor, {0, 0});
    EXPECT_EQ(harness.read(&executor, 0, true), counted(500)) << threads;
    EXPECT_EQ(together, 0);
    EXPECT_EQ(harness.waited, 0) << "the units are always ready";
    executor.run([&] { EXPECT_FALSE(harness.scheduler.waits_for_data()) << "the end needs no wait"; });
  }
}

TEST(ChunkScheduler, KnowsThatItWaitsForDataUntilItIsWoken) {
  Executor executor(2);
  WatchedHarness harness({.rows = 5, .unit_rows = 1});
  std::atomic<int> asked{0}, there{1};
  harness.source.on_ready = [&] {
    ++asked;
    return there > 0;
  };
  harness.source.on_next = [&] { --there; };
  harness.scheduler.start(&executor, {});
  executor.run([&] {
    for (int64_t unit = 0; unit < 5; ++unit) {
      EXPECT_FALSE(harness.scheduler.waits_for_data());
      ASSERT_TRUE(harness.scheduler.next());
      EXPECT_TRUE(harness.scheduler.waits_for_data());
      const int before = asked;
      EXPECT_TRUE(harness.scheduler.waits_for_data());
      EXPECT_EQ(asked, before) << "nothing woke it";
      ++there;
      harness.source.wake();
    }
    EXPECT_FALSE(harness.scheduler.waits_for_data());
    EXPECT_FALSE(harness.scheduler.next());
    EXPECT_FALSE(harness.scheduler.waits_for_data());
  });
}

TEST(ChunkScheduler, IsCancelledWhileItAsksForData) {
  for (int threads : {0, 1, 3}) {
    const auto executor = threads > 0 ? std::make_unique<Executor>(threads) : nullptr;
    WatchedHarness harness({.rows = 1000, .unit_rows = 4});
    std::atomic<int> calls{0};
    harness.source.on_ready = [&] {
      if (++calls == 20) harness.scheduler.cancel();
      return true;
    };
    harness.scheduler.start(executor.get(), {});
    EXPECT_LT(harness.read(executor.get(), 0, true).size(), 1000u);
  }
}

TEST(ChunkScheduler, StartsAndStopsAThousandTimes) {
  Executor executor(3);
  for (int round = 0; round < 1000; ++round) {
    Harness harness({.rows = 50, .unit_rows = 3, .spin = 200});
    harness.scheduler.start(&executor, {20, 0});
    executor.run([&] {
      for (int i = 0; i < round % 12; ++i) harness.scheduler.next();
    });
  }
}

TEST(ChunkScheduler, RestartsWhereTheSourceWasMoved) {
  for (int threads : {0, 1, 3}) {
    const auto executor = threads > 0 ? std::make_unique<Executor>(threads) : nullptr;
    Harness harness({.rows = 100, .unit_rows = 4});
    harness.scheduler.start(executor.get(), {1000, 0});
    for (uint64_t start : {40u, 0u, 99u, 100u}) {
      harness.scheduler.restart();
      harness.source.seek({.pass = 0, .file_ordinal = 0, .offset = start, .line = 1});
      const std::vector<int64_t> all = counted(100);
      EXPECT_EQ(harness.read(executor.get()),
                std::vector<int64_t>(all.begin() + static_cast<int64_t>(start), all.end()));
    }
  }
}

TEST(ChunkScheduler, AnExceptionOfTheSourceComesBehindWhatItGave) {
  for (int threads : {0, 3}) {
    const auto executor = threads > 0 ? std::make_unique<Executor>(threads) : nullptr;
    Harness harness({.rows = 100, .unit_rows = 5, .fail_next_at = 50});
    harness.scheduler.start(executor.get(), {});
    int64_t rows = 0;
    std::string error;
    const auto body = [&] {
      while (const ChunkSlot* ready = harness.scheduler.next()) {
        rows += ready->chunk.rows.size();
        for (const Note& note : ready->chunk.notes) {
          try {
            std::rethrow_exception(note.error);
          } catch (const Error& raised) {
            error = raised.what();
          }
        }
      }
    };
    if (executor) {
      executor->run(body);
    } else {
      body();
    }
    EXPECT_GT(rows, 44);
    EXPECT_LE(rows, 50);
    EXPECT_EQ(error, "integers: no more units");
  }
}

// A cutter that stops early without a reason would lose rows.
TEST(ChunkScheduler, RefusesAGapInTheText) {
  class Lazy : public fake::Cut {
   public:
    void apply(Chunk& chunk) const override {
      fake::Cut::apply(chunk);
      chunk.end_record -= 1;
    }
  };
  fake::Lines source({"a\nb\nc\nd\n"}, 4, false);
  const Lazy cut;
  const Port text = {.type = PortType::text, .format = {}, .rows = {}};
  const Port rows = {.type = PortType::rows, .format = {}, .rows = fake::integer_rows()};
  const TransformChain chain(PortType::none, {{.transform = &source.producer(), .name = "lines", .output = text},
                                              {.transform = &cut, .name = "cut", .output = rows}});
  ChunkScheduler scheduler(source, chain, true);
  try {
    scheduler.next();
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(), "file-0: cut stopped at byte 3 of bytes 0 to 4 and gave no reason");
  }
}

TEST(ChunkScheduler, BeginsBeforeItIsAsked) {
  Executor executor(2);
  Harness harness({.rows = 30, .unit_rows = 10});
  std::mutex mutex;
  std::condition_variable changed;
  bool begun = false;  // guarded by mutex
  harness.source.on_task([&](const Unit&) {
    const std::lock_guard lock(mutex);
    begun = true;
    changed.notify_all();
  });
  harness.scheduler.begin();  // without an executor there is nothing to begin
  EXPECT_FALSE(begun);
  harness.scheduler.start(&executor, {});
  executor.run([&] {
    harness.scheduler.begin();
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(20), [&] { return begun; }));
  });
  EXPECT_EQ(harness.read(&executor), counted(30));
}

}  // namespace
}  // namespace millrace
