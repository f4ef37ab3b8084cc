// P3: whatever call to a file goes wrong, in whatever task, a run ends with one error that names the file.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/input/graph/faulty_files.h"
#include "tests/input/graph/rich_graph.h"

namespace millrace {
namespace {

using testing_support::add_batch;
using testing_support::add_rich_files;
using testing_support::add_rich_stream;
using testing_support::all_batches;
using testing_support::Batches;
using testing_support::begins_with;
using testing_support::build_graph;
using testing_support::executors_of_all_sizes;
using testing_support::Fault;
using testing_support::FaultyFiles;
using testing_support::MemoryFiles;
using testing_support::rich_graph;
using testing_support::rich_stream_graph;
using testing_support::threads_of;

size_t threads_now() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

// The kernel lists a thread for a moment after it was joined.
bool comes_to(size_t threads) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (threads_now() != threads && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  return threads_now() == threads;
}

// How a run ended.
struct Ending {
  Batches batches;
  std::string error;  // without its place; empty: with the data
  std::string file;
  uint64_t warnings = 0;
};

class Faults : public ::testing::Test {
 protected:
  void set(const Spec& list) {
    list_ = list;
    files_.arm(Fault::none, 0);
    expected_ = all_batches(list_, files_);
    ASSERT_GT(expected_.size(), 10u);
    executors_of_all_sizes();
    threads_ = threads_now();
  }

  // `before_build`: the graph's own calls count, too.
  Ending run(Executor* executor, Fault fault, int64_t number, bool before_build) {
    Ending ending;
    files_.arm(before_build ? fault : Fault::none, number);
    try {
      InputGraph graph = build_graph(list_, files_);
      if (!before_build) files_.arm(fault, number);
      const auto on_print = [&](std::string_view) { ++ending.warnings; };
      Pipeline pipeline(std::move(graph), {.executor = executor, .on_bad_row = {}, .on_print = on_print});
      run(pipeline, ending);
    } catch (const IoError& error) {
      note(error, ending);
    }
    EXPECT_EQ(memory_.open_now, 0);
    EXPECT_TRUE(comes_to(threads_));
    EXPECT_TRUE(begins_with(expected_, ending.batches)) << number;
    if (ending.error.empty()) {
      EXPECT_EQ(ending.batches, expected_) << number;
    }
    return ending;
  }

  MemoryFiles memory_;
  FaultyFiles files_{memory_};
  Spec list_;
  Batches expected_;
  size_t threads_ = 0;

 private:
  static void note(const Error& error, Ending& ending) {
    ending.error = error.message();
    ending.file = error.place().file;
  }

  // The error comes again at every call, and is no other.
  static void run(Pipeline& pipeline, Ending& ending) {
    RowBlock slot = pipeline.make_slot();
    try {
      while (add_batch(pipeline, slot, ending.batches)) {
      }
    } catch (const IoError& error) {
      note(error, ending);
      for (int again = 0; again < 2; ++again) {
        EXPECT_EQ(testing_support::error_of([&] { pipeline.next(slot); }), error.what());
      }
    }
  }
};

TEST_F(Faults, EveryFailingCallIsOneErrorThatNamesTheFile) {
  add_rich_files(memory_);
  set(rich_graph());
  for (Executor* executor : executors_of_all_sizes()) {
    int64_t number = 0;
    for (bool met = true; met; ++number) {
      const Ending ending = run(executor, Fault::error, number, true);
      met = files_.met();
      EXPECT_EQ(ending.error, met ? "the injected fault" : "") << number << ", " << threads_of(executor) << " threads";
      EXPECT_EQ(ending.file, files_.path());
    }
    EXPECT_GT(number, 40) << "of a whole run";
  }
}

TEST_F(Faults, AFileThatShrinksIsAnErrorOrWasReadBefore) {
  add_rich_files(memory_);
  set(rich_graph());
  for (Executor* executor : executors_of_all_sizes()) {
    int failed = 0;
    int64_t number = 0;
    for (bool met = true; met; ++number) {
      const Ending ending = run(executor, Fault::shrink, number, false);
      met = files_.met();
      if (ending.error.empty()) continue;
      ++failed;
      const size_t size = memory_.files[ending.file].size();
      EXPECT_EQ(ending.file, files_.path());
      EXPECT_EQ(ending.error,
                cat("the file is shorter than when the run began: expected ", size, " bytes, got ", size / 2));
    }
    if (executor == nullptr) {
      EXPECT_GT(failed, 5);
    }
    EXPECT_GT(number, 30);
  }
}

TEST_F(Faults, AFileThatVanishesIsAnErrorOrWasOpen) {
  add_rich_files(memory_);
  set(rich_graph());
  for (Executor* executor : executors_of_all_sizes()) {
    int failed = 0;
    for (int64_t number = 0; number == 0 || files_.met(); ++number) {
      const Ending ending = run(executor, Fault::vanish, number, false);
      if (ending.error.empty()) continue;
      ++failed;
      EXPECT_EQ(ending.file, files_.path());
      EXPECT_EQ(ending.error, "cannot open the file: No such file or directory");
    }
    // Two of five are open from the start. With threads a number is another call each time.
    if (executor == nullptr) {
      EXPECT_EQ(failed, 3);
    }
  }
}

TEST_F(Faults, AFileThatGrowsChangesNothing) {
  add_rich_files(memory_);
  set(rich_graph());
  for (Executor* executor : executors_of_all_sizes()) {
    uint64_t warnings = 0;
    for (int64_t number = 0; number == 0 || files_.met(); ++number) {
      const Ending ending = run(executor, Fault::grow, number, false);
      EXPECT_EQ(ending.error, "") << number;
      warnings += ending.warnings;
    }
    EXPECT_GT(warnings, 0u);
  }
}

TEST_F(Faults, EveryFailingReadOfAStreamIsAnErrorThatNamesIt) {
  add_rich_stream(memory_);
  set(rich_stream_graph());
  for (const size_t most : {5u, 1000u}) {
    files_.set_most_bytes(most);
    for (Executor* executor : executors_of_all_sizes()) {
      int64_t number = 0;
      for (bool met = true; met; ++number) {
        const Ending ending = run(executor, Fault::error, number, true);
        met = files_.met();
        EXPECT_EQ(ending.error, met ? "the injected fault" : "") << number << ", " << threads_of(executor);
        EXPECT_EQ(ending.file, met ? "-" : "");
      }
      EXPECT_GT(number, 20);
    }
  }
}

TEST_F(Faults, AStreamMayComeInPiecesOfAnySize) {
  add_rich_stream(memory_);
  set(rich_stream_graph());
  for (Executor* executor : executors_of_all_sizes()) {
    for (const size_t most : {1u, 2u, 7u, 12u}) {
      files_.set_most_bytes(most);
      EXPECT_EQ(run(executor, Fault::none, 0, true).error, "");
    }
  }
}

}  // namespace
}  // namespace millrace
