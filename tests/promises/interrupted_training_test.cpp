// P1 over interruptions: a training that ends early, again and again, and goes on elsewhere leaves the same files, byte
// by byte, as one that nothing disturbed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "millrace/core/text.h"
#include "tests/promises/training.h"
#include "tests/trainer/interrupted.h"

namespace millrace::testing {
namespace {

class InterruptedTraining : public ::testing::Test {
 protected:
  InterruptedTraining() {
    write_data(folder_);
    std::string rows;
    for (int row = 0; row < 70; ++row) {
      const int a = row * 37 % 41 - 20, b = row * 23 % 29 - 14;
      rows += row % 11 == 5 ? "none,1,1\n" : cat(row == 30 ? "3e38" : cat(a), ',', b, ',', a + b > 0 ? 1 : 0, '\n');
    }
    folder_.write("bad.csv", rows);
  }

  std::string reading(const std::string& name, const std::string& files, const std::string& more = {}) const {
    return cat("  - filename_queue: {name: ", name, "_files, files: ", quote(folder_.path(files), 4096),
               ", epochs: 2}\n  - csv_reader: {name: ", name, "_reader, chunk_bytes: 150}\n",
               "  - decode_csv: {name: ", name, ", fields: {features: {columns: 0-5}, label: {columns: 7}}", more,
               "}\n");
  }
  static std::string training(const std::string& input, const std::string& more) {
    return cat("seed: 5\ndevice: cpu\nthreads: 2\ndelivery: native\ninput:\n", input, more);
  }
  std::vector<std::string> trainings() const {
    const std::string batch = "  - shuffle_batch: {batch_size: 16, min_after_dequeue: 20}\n";
    const std::string model =
        "model:\n  - dense: {units: 9, activation: tanh}\n  - dense: {units: 1}\nloss: sigmoid_cross_entropy\n"
        "metrics: [accuracy, auc]\n";
    const std::string sgd = "optimizer: {sgd: {learning_rate: 0.1, momentum: 0.9}}\n";
    return {
        training_yaml(folder_, {}),
        training(reading("a", "part-*.csv") + batch,
                 "model:\n  - dense: {units: 9}\n  - batch_norm\n  - dropout\n  - dense: {units: 1}\n"
                 "loss: sigmoid_cross_entropy\nmetrics: [accuracy, auc]\noptimizer: {adam: {learning_rate: 0.01, "
                 "weight_decay: 0.01, schedule: {cosine: {steps: 9, warmup: 2}}}}\n"
                 "train: {accumulate: 3, clip_norm: 0.5, on_nonfinite: skip, report_over: window, log_every: 5}\n"),
        training(reading("a", "part-*.csv") + "  - hold_out: {share: 0.2}\n" + batch,
                 cat(model, sgd, "validation: {held_out: true, every: 3, keep_best: {metric: auc}, patience: 4}\n")),
        training(cat("  - filename_queue: {files: ", quote(folder_.path("bad.csv"), 4096),
                     ", epochs: 4}\n  - csv_reader: {chunk_bytes: 70}\n",
                     "  - decode_csv: {on_bad_row: skip, bad_rows_file: ", quote(folder_.path("bad.jsonl"), 4096),
                     ", fields: {features: {columns: 0-1}, label: {columns: 2}}}\n",
                     "  - shuffle_batch: {batch_size: 8, min_after_dequeue: 30, allow_smaller_final_batch: true}\n"),
                 cat(model, sgd, "train: {on_nonfinite: skip, log_every: 3}\n")),
        training(cat(reading("a", "part-[0-2].csv"), reading("b", "part-[3-6].csv"),
                     "  - mix: {from: [a, b], weights: [1, 3]}\n  - cache\n  - repeat: {epochs: 2}\n", batch),
                 model + sgd),
        training(cat(reading("a", "part-[0-2].csv"), reading("b", "part-[3-6].csv"),
                     "  - interleave: {from: [a, b]}\n  - skip: {rows: 7}\n  - take: {rows: 300}\n",
                     "  - batch: {batch_size: 16, allow_smaller_final_batch: true}\n"),
                 cat(model, "optimizer: {rmsprop: {learning_rate: 0.01}}\ntrain: {steps: 15}\n"))};
  }

  Trainer trainer(const std::string& yaml, std::vector<std::string> overrides) const {
    overrides.push_back(cat("save=", quote(model_, 4096)));
    return Trainer::from_string(yaml, "test.yaml", overrides);
  }
  // The files that a training leaves, which are gone then.
  std::vector<std::string> take_files() const {
    std::vector<std::string> out;
    for (const char* name : {"m.safetensors", "m.last.safetensors", "bad.jsonl"}) {
      out.push_back(TempFolder::read(folder_.path(name)));
      std::filesystem::remove(folder_.path(name));
    }
    return out;
  }

  const TempFolder folder_;
  const std::string model_ = folder_.path("m.safetensors"), dir_ = folder_.path("checkpoints");
};

TEST_F(InterruptedTraining, LeavesTheFilesOfAnUndisturbedOne) {
  const std::vector<std::vector<std::string>> places = {{"threads=1", "delivery=feed"},
                                                        {"threads=3", "delivery=queue"},
                                                        {"threads=2", "delivery=staging"},
                                                        {"threads=4"},
                                                        {"threads=3", "delivery={kind: queue, capacity: 1}"}};
  const std::string key = cat("checkpoint={dir: ", quote(dir_, 4096), ", every: 4, keep: 2}");
  size_t place = 0;
  for (const std::string& yaml : trainings()) {
    const TrainResult straight = trainer(yaml, {}).run();
    const std::string expected = outcome_of(straight);
    std::vector<std::string> files = take_files();
    ASSERT_GT(straight.steps, 10) << yaml;
    const int64_t last = straight.steps;
    for (const std::vector<int64_t>& stops : std::vector<std::vector<int64_t>>{
             {1}, {2, 3, 4}, {5, last - 4}, {last / 2}, {1, last / 3, last - 1}, {last}, {}}) {
      SCOPED_TRACE(cat(yaml, "stopped at ", ::testing::PrintToString(stops)));
      std::filesystem::remove_all(dir_);
      for (const int64_t stop : stops) {
        std::vector<std::string> overrides = places[place++ % places.size()];
        overrides.push_back(key);
        Trainer part = trainer(yaml, overrides);
        part.resume();
        EXPECT_EQ(run_until(part, stop).steps, stop);
      }
      std::filesystem::remove(folder_.path("m.last.safetensors"));
      Trainer heir = trainer(yaml, {key});
      const TrainResult result = run_on(heir);
      EXPECT_EQ(result.resumed.value_or(0), stops.empty() ? 0 : stops.back());
      EXPECT_EQ(outcome_of(result), expected);
      EXPECT_TRUE(take_files() == files);
      // And once more, as a program does that is started until it is done.
      if (stops.size() != 1) continue;
      std::vector<std::string> overrides = places[place++ % places.size()];
      overrides.push_back(key);
      Trainer again = trainer(yaml, overrides);
      EXPECT_EQ(outcome_of(run_on(again)), expected);
      take_files();
    }
  }
}

}  // namespace
}  // namespace millrace::testing
