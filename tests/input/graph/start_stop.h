// StartStop: pipelines that are started and stopped at random moments, and how long that takes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "millrace/core/random.h"
#include "tests/input/graph/faulty_files.h"
#include "tests/input/graph/rich_graph.h"
#include "tests/support/sanitized.h"

namespace millrace::testing_support {

// P3: how long after a failure, or a call that stops, whoever waits may go on waiting.
constexpr double kSoon = test::kSanitized ? 2.0 : 0.1;

using WallClock = std::chrono::steady_clock;

// Seconds, of many times the same.
class Times {
 public:
  void add(WallClock::time_point begin) {
    seconds_.push_back(std::chrono::duration<double>(WallClock::now() - begin).count());
  }
  // Single ones are left to the machine, which may have other things to do.
  void expect_soon(const std::string& what) {
    ASSERT_GE(seconds_.size(), 20u);
    const auto middle = seconds_.begin() + static_cast<std::ptrdiff_t>(seconds_.size() / 2);
    std::nth_element(seconds_.begin(), middle, seconds_.end());
    EXPECT_LT(*middle, kSoon) << what;
    ::testing::Test::RecordProperty(what + "_median_microseconds", std::to_string(*middle * 1e6));
    ::testing::Test::RecordProperty(what + "_most_microseconds",
                                    std::to_string(*std::max_element(seconds_.begin(), seconds_.end()) * 1e6));
  }

 private:
  std::vector<double> seconds_;
};

class StartStop {
 public:
  explicit StartStop(uint64_t seed) : seed_(seed) {
    add_rich_files(files_);
    add_rich_stream(stream_);
    add_rich_stream(waiting_);
    waiting_.waiting = {"-"};
    expected_ = all_batches(rich_graph_, files_);
    expected_of_stream_ = all_batches(stream_graph_, stream_);
  }

  // False, and the test has failed, when something is not as it should be.
  bool run(int cycles) {
    for (int i = 0; i < cycles && !::testing::Test::HasFailure(); ++i) cycle();
    EXPECT_EQ(files_.open_now, 0);
    return !::testing::Test::HasFailure();
  }

  // Of cancel() until the pipeline is gone, from another thread than the one that waits.
  Times& stopping() { return stopping_; }

 private:
  // Draws a number below `limit`.
  uint64_t draw(uint64_t limit) { return scale_to(philox64(seed_, 0, drawn_++), limit); }

  void cycle() {
    const std::vector<Executor*>& executors = executors_of_all_sizes();
    Executor* executor = executors[draw(executors.size())];
    switch (draw(3)) {
      case 0: return use(build_graph(rich_graph_, files_), executor, expected_);
      case 1: return use(build_graph(stream_graph_, stream_), executor, expected_of_stream_);
      default: return use_waiting(executor);
    }
  }

  void use(InputGraph graph, Executor* executor, const Batches& expected) {
    auto pipeline = std::make_unique<Pipeline>(std::move(graph), PipelineOptions{.executor = executor});
    const size_t most = draw(expected.size() + 2);
    switch (draw(4)) {
      case 0: return;
      case 1: return take(*pipeline, most, expected);
      case 2:
        take(*pipeline, most, expected);
        pipeline->cancel();
        expect_cancelled(*pipeline);
        return;
      default: cancel_elsewhere(std::move(pipeline), most, expected);
    }
  }

  // Of data that neither come nor end.
  void use_waiting(Executor* executor) {
    auto pipeline =
        std::make_unique<Pipeline>(build_graph(stream_graph_, waiting_), PipelineOptions{.executor = executor});
    if (draw(4) == 0) return;
    cancel_elsewhere(std::move(pipeline), draw(3), expected_of_stream_);
  }

  // From another thread, behind `batches` batches or in the middle of the next one, or when the data have ended.
  void cancel_elsewhere(std::unique_ptr<Pipeline> pipeline, size_t batches, const Batches& expected) {
    std::atomic<size_t> taken = 0;
    std::atomic<bool> ended = false;
    WallClock::time_point begin;
    std::thread canceller([&, yields = draw(100)] {
      while (taken < batches && !ended) std::this_thread::yield();
      for (uint64_t i = 0; i < yields; ++i) std::this_thread::yield();
      begin = WallClock::now();
      pipeline->cancel();
    });
    RowBlock slot = pipeline->make_slot();
    Batches got;
    while (add_batch(*pipeline, slot, got)) ++taken;
    ended = true;
    EXPECT_TRUE(begins_with(expected, got));
    const bool waited = pipeline->cancelled();
    canceller.join();
    expect_cancelled(*pipeline);
    pipeline.reset();
    if (waited) stopping_.add(begin);
  }

  static void take(Pipeline& pipeline, size_t most, const Batches& expected) {
    RowBlock slot = pipeline.make_slot();
    Batches got;
    while (got.size() < most && add_batch(pipeline, slot, got)) {
    }
    EXPECT_TRUE(begins_with(expected, got));
    EXPECT_EQ(got.size(), std::min(most, expected.size()));
  }

  static void expect_cancelled(Pipeline& pipeline) {
    RowBlock slot = pipeline.make_slot();
    EXPECT_TRUE(pipeline.cancelled());
    EXPECT_EQ(pipeline.next(slot), 0);
  }

  const uint64_t seed_;
  uint64_t drawn_ = 0;
  MemoryFiles files_, stream_, waiting_;
  const Spec rich_graph_ = rich_graph(), stream_graph_ = rich_stream_graph();
  Batches expected_, expected_of_stream_;
  Times stopping_;
};

}  // namespace millrace::testing_support
