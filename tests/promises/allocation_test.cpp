// P4: our code allocates nothing in a steady step; what the libraries allocate inside their own calls is constant.
// P5: the memory of a run does not grow with the data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/promises/training.h"
#include "tests/support/allocation_counter.h"

namespace millrace::testing {
namespace {

// Allocations of each of the steps `first`..`last` of an endless training.
std::vector<AllocationCounts> count_steps(const std::string& yaml, int first, int last) {
  Trainer trainer = Trainer::from_spec(parse_yaml(yaml, "test.yaml"));
  std::vector<AllocationCounts> counts;
  counts.reserve(static_cast<size_t>(last - first) + 1);
  TrainCallbacks callbacks;
  callbacks.on_step = [&](const StepReport& report) {
    if (report.step > first && report.step <= last) counts.push_back(stop_counting());
    if (report.step >= first && report.step < last) start_counting();
  };
  trainer.run(callbacks);
  return counts;
}

std::string endless(std::string yaml) {
  yaml.replace(yaml.find(", epochs: 2"), 11, "");
  return yaml + "train: {log_every: 1, steps: 400}\n";
}

int64_t own_allocations(const TempFolder& folder, const char* delivery, int threads) {
  const auto counts = count_steps(endless(training_yaml(folder, {.threads = threads, .delivery = delivery})), 200, 400);
  EXPECT_EQ(counts.size(), 200u);
  int64_t own = 0;
  for (const AllocationCounts& step : counts) own += step.own;
  return own;
}

TEST(Allocation, ASteadyStepAllocatesNothingOfOurs) {
  TempFolder folder;
  write_data(folder);
  EXPECT_EQ(own_allocations(folder, "feed", 1), 0);
  EXPECT_EQ(own_allocations(folder, "feed", 2), 0);
  EXPECT_EQ(own_allocations(folder, "native", 1), 0);
}

// With threads that decode ahead, timing decides in which round the last chunk buffer is used for the first time and
// takes its memory. That happens once a buffer; so of several trainings one must be free of it, and none may be far
// off.
TEST(Allocation, NorDoesOneThatIsFedByOtherThreads) {
  TempFolder folder;
  write_data(folder);
  int64_t least = 1000;
  for (int attempt = 0; attempt < 8 && least > 0; ++attempt) {
    const int64_t own = own_allocations(folder, "native", 2);
    EXPECT_LT(own, 40) << "over 200 steps";
    least = std::min(least, own);
  }
  EXPECT_EQ(least, 0);
}

TEST(Allocation, TheLibrariesShareIsConstant) {
  const std::string yaml =
      "seed: 1\ndevice: cpu\nthreads: 1\ninput:\n  - synthetic: {task: sum, features: 200}\n"
      "  - batch: {batch_size: 32}\nmodel:\n  - dense: {units: 300, activation: relu}\n  - dense: {units: 1}\n"
      "loss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.1}}\ntrain: {log_every: 1, steps: 120}\n";
  const auto counts = count_steps(yaml, 40, 120);
  ASSERT_EQ(counts.size(), 80u);
  for (const AllocationCounts& step : counts) {
    EXPECT_EQ(step.own, 0);
    EXPECT_EQ(step.library, counts[0].library);
  }
}

// P3: an executor starts or says why not, whichever of the caller's allocations fails. A thread that were left behind
// would end the process.
TEST(Allocation, AnExecutorThatCannotStartSaysSo) {
  { const Executor first(3); }  // OpenMP's runtime ends the process when what it keeps of a thread cannot be had
  std::set<std::string> messages;
  int64_t number = 0;
  for (bool failed = true; failed; ++number) {
    fail_allocation(number);
    try {
      const Executor executor(3);
      failed = allocation_failed();
      EXPECT_EQ(executor.started_threads(), 3);
    } catch (const InternalError& error) {
      EXPECT_TRUE(allocation_failed());
      messages.insert(error.what());
    }
  }
  EXPECT_GE(number, 5);  // the executor, its list of threads, two threads; then all went well
  EXPECT_THAT(messages, ::testing::Contains("could not start 3 threads: out of memory; lower threads"));
}

}  // namespace
}  // namespace millrace::testing
