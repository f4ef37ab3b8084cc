#include "millrace/core/executor.h"

#include <gtest/gtest.h>
#include <omp.h>

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

namespace millrace {
namespace {

// Counts the threads that run bodies at the same time: every body waits until `threads` of them are there.
int threads_that_meet(Executor& executor, int threads) {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::thread::id> ids;  // guarded by mutex
  executor.parallel_for(threads, [&](int64_t) {
    std::unique_lock lock(mutex);
    ids.insert(std::this_thread::get_id());
    changed.notify_all();
    changed.wait_for(lock, std::chrono::seconds(20), [&] { return static_cast<int>(ids.size()) == threads; });
  });
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

TEST(Executor, SeveralExecutorsLiveTogether) {
  Executor one(2), two(3);
  std::atomic<int64_t> sum{0};
  one.parallel_for(20, [&](int64_t) { two.parallel_for(20, [&](int64_t i) { sum += i; }); });
  EXPECT_EQ(sum.load(), 20 * 190);
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
