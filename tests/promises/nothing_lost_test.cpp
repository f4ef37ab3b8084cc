// P2: every row reaches the step exactly once an epoch, and what is dropped is counted by cause.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "millrace/input/catalog.h"
#include "tests/promises/training.h"

namespace millrace::testing {
namespace {

// How often each place came, over the whole run of the input graph.
std::map<std::string, int> visits(const std::string& yaml, int threads, InputSummary* summary = nullptr) {
  const Spec spec = parse_yaml(yaml, "test.yaml");
  Executor executor(threads);
  Pipeline pipeline(InputGraph::build(*spec.find("input"), builtin_ops(), {.seed = 5}), {.executor = &executor});
  std::map<std::string, int> seen;
  RowBlock batch = pipeline.make_slot();
  while (pipeline.next(batch) > 0) {
    for (int64_t row = 0; row < batch.size(); ++row) ++seen[pipeline.place(batch.id(row)).text()];
  }
  if (summary != nullptr) *summary = pipeline.summary();
  return seen;
}

TEST(NothingLost, EveryRowComesOnceAnEpoch) {
  TempFolder folder;
  write_data(folder);
  for (int chunk_bytes : {1, 77, 262144}) {
    InputSummary summary;
    const auto seen = visits(training_yaml(folder, {.chunk_bytes = chunk_bytes}), 3, &summary);
    ASSERT_EQ(seen.size(), static_cast<size_t>(kFiles * kRows));
    for (const auto& [place, count] : seen) ASSERT_EQ(count, kEpochs) << place;
    EXPECT_EQ(summary.rows, static_cast<uint64_t>(kAllRows));
    EXPECT_EQ(summary.passes, static_cast<uint64_t>(kEpochs));
    EXPECT_TRUE(summary.dropped.empty());
  }
}

TEST(NothingLost, ThePartialBatchIsCounted) {
  TempFolder folder;
  write_data(folder);
  std::string yaml = training_yaml(folder, {});
  const std::string allow = ", allow_smaller_final_batch: true";
  yaml.erase(yaml.find(allow), allow.size());
  const TrainResult result = Trainer::from_spec(parse_yaml(yaml, "test.yaml")).run();
  EXPECT_EQ(result.rows, 400u);
  ASSERT_EQ(result.input.dropped.size(), 1u);
  EXPECT_EQ(result.input.dropped[0].cause, "last partial batch");
  EXPECT_EQ(result.input.dropped[0].rows, 6u);
}

TEST(NothingLost, SavingAndRestoringInTheMiddleWithOtherThreads) {
  TempFolder folder;
  write_data(folder);
  const auto build = [&](int chunk_bytes) {
    const Spec spec = parse_yaml(training_yaml(folder, {.chunk_bytes = chunk_bytes}), "test.yaml");
    return InputGraph::build(*spec.find("input"), builtin_ops(), {.seed = 5});
  };
  std::map<std::string, int> seen;
  const auto run = [&](Pipeline& pipeline, int batches) {
    RowBlock batch = pipeline.make_slot();
    for (int i = 0; i < batches && pipeline.next(batch) > 0; ++i) {
      for (int64_t row = 0; row < batch.size(); ++row) ++seen[pipeline.place(batch.id(row)).text()];
    }
  };
  std::string saved;
  {
    Executor executor(2);
    Pipeline first(build(300), {.executor = &executor});
    run(first, 9);
    saved = first.save().encode();
  }
  Executor executor(5);
  Pipeline second(build(300), {.executor = &executor});
  second.restore(State::decode(saved));
  run(second, 1000);
  ASSERT_EQ(seen.size(), static_cast<size_t>(kFiles * kRows));
  for (const auto& [place, count] : seen) EXPECT_EQ(count, kEpochs) << place;
}

}  // namespace
}  // namespace millrace::testing
