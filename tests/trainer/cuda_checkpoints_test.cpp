// Checkpoints of a training on a device: steps fly there while values are copied beside them.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/cuda.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/interrupted.h"

namespace millrace::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class CudaCheckpoints : public test::CudaTest {
 protected:
  Trainer trainer(const std::string& more, const std::string& device = "cuda") const {
    return Trainer::from_spec(
        parse_yaml(cat("seed: 5\nthreads: 2\ndevice: ", device,
                       "\ninput:\n  - synthetic: {features: 12, rows: 400}\n"
                       "  - shuffle_batch: {batch_size: 16, min_after_dequeue: 40, allow_smaller_final_batch: true}\n"
                       "model:\n  - dense: {units: 24, activation: relu}\n  - batch_norm\n  - dropout: {rate: 0.2}\n"
                       "  - dense: {units: 1}\nloss: sigmoid_cross_entropy\nmetrics: [accuracy, auc]\n"
                       "optimizer: {adam: {learning_rate: 0.01}}\n"
                       "train: {log_every: 3, report_over: window, accumulate: 2}\n",
                       more),
                   "test.yaml"));
  }
  std::string key(const std::string& options) const { return checkpoint_key(dir_, options); }

  const TempFolder folder_;
  const std::string dir_ = folder_.path("checkpoints");
};

TEST_F(CudaCheckpoints, ChangeNothing) {
  const TrainResult without = trainer("").run(), with = trainer(key("every: 1, keep: 100")).run();
  EXPECT_EQ(with.weights, without.weights);
  EXPECT_EQ(scores_text(with.loss, with.metrics), scores_text(without.loss, without.metrics));
  EXPECT_GE(with.checkpoints.written, 1);
  EXPECT_EQ(with.checkpoints.failed, 0);
}

TEST_F(CudaCheckpoints, AreGoneOnFromAsIfNothingHadHappened) {
  const TrainResult whole = trainer("").run();
  trainer(key("every: 1, keep: 100")).run();
  const std::vector<int64_t> steps = checkpoints_in(dir_);
  ASSERT_GT(steps.size(), 1u);
  for (const int64_t step : steps) {
    SCOPED_TRACE(step);
    const std::string from = checkpoint_path(dir_, step), own = folder_.path(cat("from-", step));
    Trainer heir = trainer(checkpoint_key(own, "every: 1000"));
    ASSERT_TRUE(heir.resume(from));
    const TrainResult result = heir.run();
    EXPECT_EQ(result.weights, whole.weights);
    EXPECT_EQ(result.steps, whole.steps);
    EXPECT_EQ(result.rows, whole.rows);
    EXPECT_EQ(scores_text(result.loss, result.metrics), scores_text(whole.loss, whole.metrics));
  }
}

TEST_F(CudaCheckpoints, AreGoneOnFromOnTheCpuWithANote) {
  Trainer first = trainer(key("every: 1000"));
  run_until(first, 11);
  Trainer heir = trainer(key("every: 1000"), "cpu");
  const std::optional<ResumeReport> report = heir.resume();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->step, 11);
  EXPECT_THAT(report->notes, Contains(HasSubstr("device")));
  EXPECT_EQ(heir.run().steps, 25);
}

}  // namespace
}  // namespace millrace::testing
