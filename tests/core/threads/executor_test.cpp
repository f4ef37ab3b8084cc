#include "millrace/core/threads/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "tests/support/openmp.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

// Counts the threads that run bodies at the same time: every body waits until `threads` of them are there.
int threads_that_meet(Executor& executor, int threads, std::set<std::thread::id>* who = nullptr) {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::thread::id> ids;  // guarded by mutex
  executor.parallel_for(threads, [&](int64_t) {
    std::unique_lock lock(mutex);
    ids.insert(std::this_thread::get_id());
    changed.notify_all();
    changed.wait_for(lock, std::chrono::seconds(20), [&] { return static_cast<int>(ids.size()) == threads; });
  });
  if (who != nullptr) *who = ids;
  return static_cast<int>(ids.size());
}

TEST(Executor, RunsOnExactlyItsThreads) {
  for (int threads : {1, 2, 3, 8}) {
    Executor executor(threads);
    EXPECT_EQ(executor.threads(), threads);
    EXPECT_EQ(executor.started_threads(), threads);
    EXPECT_EQ(threads_that_meet(executor, threads), threads) << threads;
  }
}

TEST(Executor, RefusesNumbersOfThreadsThatNoMachineHas) {
  for (const int threads : {-1, Executor::kMostThreads + 1, 1000000000}) {
    EXPECT_EQ(error_of<ConfigError>([&] { Executor{threads}; }), cat("expected from 1 to 4096 threads, got ", threads));
  }
}

TEST(Executor, NeverRunsMoreThanItsThreadsAtOnce) {
  Executor executor(3);
  std::atomic<int> running{0}, most{0};
  executor.parallel_for(2000, [&](int64_t) {
    const int now = ++running;
    int seen = most.load();
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    --running;
  });
  EXPECT_LE(most.load(), 3);
}

TEST(Executor, VisitsEveryIndexOnce) {
  Executor executor(4);
  std::vector<int> visits(10007);
  executor.parallel_for(10007, [&](int64_t i) { ++visits[static_cast<size_t>(i)]; });
  EXPECT_EQ(std::accumulate(visits.begin(), visits.end(), 0), 10007);
  EXPECT_EQ(*std::max_element(visits.begin(), visits.end()), 1);
  executor.parallel_for(0, [&](int64_t) { FAIL(); });
}

TEST(Executor, ThrowsTheErrorOfTheSmallestIndexAfterAllHaveRun) {
  for (int threads : {1, 4}) {
    Executor executor(threads);
    std::atomic<int> ran{0};
    try {
      executor.parallel_for(100, [&](int64_t i) {
        ++ran;
        if (i % 10 == 7) throw std::runtime_error(std::to_string(i));
      });
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "7");
    }
    EXPECT_EQ(ran.load(), 100);
  }
}

TEST(Executor, NestsLoops) {
  Executor executor(3);
  std::atomic<int64_t> sum{0};
  executor.parallel_for(10, [&](int64_t i) { executor.parallel_for(10, [&](int64_t j) { sum += i * j; }); });
  EXPECT_EQ(sum.load(), 45 * 45);
}

TEST(Executor, SetsOpenMpAndFloatingPointModeInsideAndRestoresThem) {
  const int openmp_before = omp_get_max_threads();
  omp_set_num_threads(5);
  std::fesetround(FE_UPWARD);
  Executor executor(2);
  std::atomic<int> wrong{0};
  executor.parallel_for(64, [&](int64_t) {
    if (omp_get_max_threads() != 1 || std::fegetround() != FE_TONEAREST) ++wrong;
  });
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(omp_get_max_threads(), 5);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  omp_set_num_threads(openmp_before);
}

TEST(Executor, ServesSeveralCallersAtOnce) {
  Executor executor(2);
  std::vector<std::thread> callers;
  std::atomic<int64_t> sum{0};
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) executor.parallel_for(20, [&](int64_t i) { sum += i; });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum.load(), 4 * 50 * 190);
}

// Calls `call(c)` on `count` threads at once.
template <class Call>
void call_from_threads(int count, const Call& call) {
  std::vector<std::thread> callers;
  std::barrier start(count);
  for (int c = 0; c < count; ++c) {
    callers.emplace_back([&, c] {
      start.arrive_and_wait();
      call(c);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(Executor, RunsABodyOnItsCallersThreadOneCallerAtATime) {
  for (int threads : {1, 2, 3}) {
    Executor executor(threads);
    std::atomic<int> elsewhere{0}, inside{0}, most{0}, ran{0};
    call_from_threads(6, [&](int) {
      for (int round = 0; round < 20; ++round) {
        executor.run([&, caller = std::this_thread::get_id()] {
          if (std::this_thread::get_id() != caller) ++elsewhere;
          if (const int now = ++inside; now > most) most = now;
          for (int turn = 0; turn < 50; ++turn) std::this_thread::yield();
          --inside;
          ++ran;
        });
      }
    });
    EXPECT_EQ(ran.load(), 120);
    EXPECT_EQ(elsewhere.load(), 0) << threads;
    EXPECT_EQ(most.load(), 1) << threads;
  }
}

// Every loop has as many bodies as there are threads, and they wait for each other: so the caller is one of them, the
// others are the executor's own, and no other caller's bodies are in the way.
TEST(Executor, ALoopHasAllThreadsWhoeverElseCalls) {
  constexpr int kThreads = 3, kCallers = 4, kRounds = 20;
  Executor executor(kThreads);
  std::atomic<int> wrong{0};
  std::mutex mutex;
  std::set<std::thread::id> others;  // guarded by mutex
  call_from_threads(kCallers, [&](int) {
    for (int round = 0; round < kRounds && wrong == 0; ++round) {
      std::set<std::thread::id> ids;
      if (threads_that_meet(executor, kThreads, &ids) != kThreads || !ids.contains(std::this_thread::get_id())) ++wrong;
      ids.erase(std::this_thread::get_id());
      const std::lock_guard lock(mutex);
      others.merge(ids);
    }
  });
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(others.size(), size_t{kThreads - 1});
}

TEST(Executor, SeveralExecutorsLiveTogether) {
  Executor one(2), two(3);
  std::atomic<int64_t> sum{0};
  one.parallel_for(20, [&](int64_t) { two.parallel_for(20, [&](int64_t i) { sum += i; }); });
  EXPECT_EQ(sum.load(), 20 * 190);
}

TEST(Executor, NestsInOthersForSeveralCallers) {
  Executor one(2), two(3);
  std::atomic<int64_t> sum{0};
  call_from_threads(4, [&](int) {
    one.parallel_for(
        10, [&](int64_t) { one.run([&] { two.parallel_for(10, [&](int64_t i) { two.run([&] { sum += i; }); }); }); });
  });
  EXPECT_EQ(sum.load(), 4 * 10 * 45);
}

TEST(Executor, ComesBackToItselfBehindAnother) {
  for (int threads : {1, 2}) {
    Executor one(threads), two(threads);
    const auto caller = std::this_thread::get_id();
    int sum = 0;  // not atomic: every body is on the caller's thread
    one.run([&] {
      two.run([&] {
        one.run([&] { EXPECT_EQ(std::this_thread::get_id(), caller); });
        one.parallel_for(100, [&](int64_t i) {
          EXPECT_EQ(std::this_thread::get_id(), caller);
          sum += static_cast<int>(i);
        });
      });
      EXPECT_EQ(threads_that_meet(one, threads), threads);
    });
    EXPECT_EQ(sum, 4950);
  }
}

TEST(Executor, LetsTheNextCallerInAfterABodyThatThrows) {
  Executor executor(2);
  for (int round = 0; round < 3; ++round) {
    EXPECT_THROW(executor.run([] { throw std::runtime_error("enough"); }), std::runtime_error);
    std::thread([&] { EXPECT_EQ(threads_that_meet(executor, 2), 2); }).join();
  }
}

struct CountingTask : Task {
  std::vector<int>* log = nullptr;
  int value = 0;
  void run() noexcept override { (*log)[static_cast<size_t>(value)] = value + 1; }
};

TEST(TaskGroup, WaitSeesWhatTasksWrote) {
  for (int threads : {1, 3}) {
    Executor executor(threads);
    std::vector<int> log(500);
    std::deque<CountingTask> tasks(500);
    TaskGroup group(executor);
    for (int i = 0; i < 500; ++i) {
      tasks[static_cast<size_t>(i)].log = &log;
      tasks[static_cast<size_t>(i)].value = i;
      group.submit(tasks[static_cast<size_t>(i)]);
    }
    group.wait();
    for (int i = 0; i < 500; ++i) EXPECT_EQ(log[static_cast<size_t>(i)], i + 1);
  }
}

// A task that submits its successor, as chunk tasks do.
struct ChainTask : Task {
  TaskGroup* group = nullptr;
  ChainTask* next = nullptr;
  int* count = nullptr;
  void run() noexcept override {
    ++*count;
    if (next != nullptr) group->submit(*next);
  }
};

TEST(TaskGroup, TasksMaySubmitTasks) {
  Executor executor(2);
  int count = 0;
  std::deque<ChainTask> chain(100);
  TaskGroup group(executor);
  for (size_t i = 0; i < chain.size(); ++i) {
    chain[i].group = &group;
    chain[i].next = i + 1 < chain.size() ? &chain[i + 1] : nullptr;
    chain[i].count = &count;
  }
  group.submit(chain[0]);
  group.wait();
  EXPECT_EQ(count, 100);
}

struct SignalTask : Task {
  Completion* completion = nullptr;
  int* value = nullptr;
  void run() noexcept override {
    *value += 1;
    completion->signal();
  }
};

TEST(Completion, WaiterHelpsAndSeesWhatWasWritten) {
  for (int threads : {1, 2, 4}) {
    Executor executor(threads);
    Completion completion(executor);
    TaskGroup group(executor);
    SignalTask task;
    int value = 0;
    task.completion = &completion;
    task.value = &value;
    completion.wait();
    for (int round = 1; round <= 300; ++round) {
      completion.arm();
      group.submit(task);
      completion.wait();
      ASSERT_EQ(value, round);
    }
    group.wait();
  }
}

TEST(Executor, StartsAndStopsManyTimes) {
  for (int i = 0; i < 200; ++i) {
    Executor executor(1 + i % 5);
    std::atomic<int> ran{0};
    executor.parallel_for(i % 7, [&](int64_t) { ++ran; });
    ASSERT_EQ(ran.load(), i % 7);
  }
}

}  // namespace
}  // namespace millrace
