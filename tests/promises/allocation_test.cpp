// P4: our code allocates nothing in a steady step; what the libraries allocate inside their own calls is constant.
// P5: the memory of a run does not grow with the data.
#include <gtest/gtest.h>

#include <algorithm>
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
  for (int threads : {1, 2, 3}) EXPECT_EQ(own_allocations(folder, "native", threads), 0) << threads;
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

}  // namespace
}  // namespace millrace::testing
