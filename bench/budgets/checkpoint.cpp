// The cost of checkpoints: whole trainings with and without them, by the clock on the wall, and how long a step waits
// for the copy.
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "bench/budgets/budget.h"
#include "bench/budgets/data.h"
#include "millrace/core/text.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/trainer.h"

namespace millrace::bench {

namespace {

struct Trained {
  std::string config;
  int every = 0;  // steps from one checkpoint to the next
};

Trained notebook(const Setting& setting) {
  return {cat("seed: 23\nthreads: 2\ninput:\n  - filename_queue: {files: \"", data_file(setting.folder),
              "\"}\n  - csv_reader\n"
              "  - decode_csv: {fields: {features: {columns: 0-1023}, label: {columns: 1024}}}\n"
              "  - shuffle_batch: {batch_size: 23, capacity: 79, min_after_dequeue: 10, threads: 2}\n"
              "model:\n  - dense: {units: 1024, activation: relu}\n  - dense: {units: 1}\n"
              "loss: sigmoid_cross_entropy\nmetrics: [accuracy]\noptimizer: {sgd: {learning_rate: 0.1}}\n"
              "train: {steps: 5001}\n"),
          200};
}

Trained lenet(const Setting&) {
  return {
      "seed: 1\nthreads: 2\ninput:\n  - synthetic: {task: sum, features: 784}\n"
      "  - shuffle_batch: {batch_size: 64, capacity: 2112, min_after_dequeue: 2048}\n"
      "model:\n  - reshape: [1, 28, 28]\n  - conv2d: {filters: 20, kernel: 5}\n  - max_pool: {size: 2}\n"
      "  - conv2d: {filters: 50, kernel: 5}\n  - max_pool: {size: 2}\n  - flatten\n"
      "  - dense: {units: 500, activation: relu}\n  - dense: {units: 1}\n"
      "loss: sigmoid_cross_entropy\nmetrics: [accuracy]\noptimizer: {sgd: {learning_rate: 0.01, momentum: 0.9}}\n"
      "train: {steps: 101}\n",
      10};
}

Trainer trainer_of(const Setting& setting, const Trained& training, bool saves, const std::string& more = "") {
  const std::string folder = setting.folder + "/checkpoints";
  std::filesystem::remove_all(folder);
  std::string config = training.config + more;
  if (saves) config += cat("checkpoint: {dir: \"", folder, "\", every: ", training.every, "}\n");
  return Trainer::from_string(config, "budget.yaml");
}

// Includes the last checkpoint, for which the end of the training waits.
Ratio with_checkpoints(const Setting& setting, const Trained& training, const std::string& more = "") {
  return compare(
      setting.rounds, [&] { return trainer_of(setting, training, false, more).run().seconds; },
      [&] { return trainer_of(setting, training, true, more).run().seconds; });
}

// The time that a step waits for a checkpoint, over a plain copy of the parameters between two other steps.
Ratio of_copy(const Setting& setting) {
  const Trained training = notebook(setting);
  return median_of(setting.rounds, [&] {
    Trainer trainer = trainer_of(setting, training, true);
    const TensorView block = trainer.model().parameter_block();
    std::vector<std::byte> copy(block.bytes());
    std::vector<double> copies;
    const TrainResult result = trainer.run({.on_batch = [&](const BatchReport& report) {
      if (report.step % training.every != training.every / 2) return;
      copies.push_back(timed(wall_seconds, [&] { std::memcpy(copy.data(), block.data(), block.bytes()); }));
    }});
    const double mean = std::accumulate(copies.begin(), copies.end(), 0.0) / static_cast<double>(copies.size());
    return result.checkpoints.copy_seconds / static_cast<double>(result.checkpoints.written) / mean;
  });
}

// Seconds until the first step of a training that resumes in 100 GB of text.
Ratio to_first_step(const Setting& setting) {
  constexpr int kFiles = 1500, kSteps = 300;
  const std::string folder = setting.folder + "/checkpoints";
  std::string files;
  for (int i = 0; i < kFiles; ++i) files += cat(i > 0 ? ", " : "", '"', data_file(setting.folder), '"');
  const std::string config = cat("seed: 23\nthreads: 2\ninput:\n  - filename_queue: {files: [", files,
                                 "], epochs: 1}\n  - csv_reader\n"
                                 "  - decode_csv: {fields: {features: {columns: 0-1023}, label: {columns: 1024}}}\n"
                                 "  - shuffle_batch: {batch_size: 256, min_after_dequeue: 10000}\n"
                                 "model:\n  - dense: {units: 1}\nloss: sigmoid_cross_entropy\n"
                                 "optimizer: {sgd: {learning_rate: 0.1}}\ncheckpoint: {dir: \"",
                                 folder, "\", every: 100000}\n");
  std::filesystem::remove_all(folder);
  const auto train = [&](int64_t steps) {
    Trainer trainer = Trainer::from_string(config, "budget.yaml");
    trainer.resume();
    const int64_t last = trainer.steps() + steps;
    trainer.run({.on_batch = [&](const BatchReport& report) {
      if (report.step == last) trainer.stop();
    }});
  };
  train(kSteps);
  return median_of(setting.rounds, [&] { return timed(wall_seconds, [&] { train(1); }); });
}

}  // namespace

void add_checkpoint_budgets(Budgets& out) {
  out.push_back({"checkpoint/notebook", "the notebook's training, every 200 steps, over none", 1.03, false,
                 [](const Setting& setting) { return with_checkpoints(setting, notebook(setting)); }});
  out.push_back({"checkpoint/notebook/queue", "the same with delivery queue", 1.03, false, [](const Setting& setting) {
                   return with_checkpoints(setting, notebook(setting), "delivery: queue\n");
                 }});
  out.push_back({"checkpoint/lenet", "LeNet at batch 64, every 10 steps, over none", 1.03, false,
                 [](const Setting& setting) { return with_checkpoints(setting, lenet(setting)); }});
  out.push_back({"checkpoint/copy", "what a step waits, over a copy of the same bytes", 1.5, false, of_copy});
  out.push_back({"checkpoint/resume", "seconds to the first step after a resume in 100 GB, with its checkpoint", 1,
                 false, to_first_step});
}

}  // namespace millrace::bench
