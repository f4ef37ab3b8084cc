#include "bench/budgets/training.h"

#include "bench/budgets/compare.h"
#include "bench/budgets/input_path.h"
#include "millrace/core/text.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/trainer.h"

namespace millrace::bench {

namespace {

constexpr int kSteps = 150;
constexpr int kWarmUp = 10;

}  // namespace

double step_seconds(const std::string& file, int threads, std::string_view layers) {
  const std::string input = input_yaml({.files = file, .epochs = 0, .threads = threads});
  Trainer trainer = Trainer::from_spec(
      parse_yaml(cat("seed: 23\nthreads: ", threads, '\n', input, "model:\n", layers,
                     "  - dense: {units: 1}\n"
                     "loss: sigmoid_cross_entropy\nmetrics: [accuracy]\noptimizer: {sgd: {learning_rate: 0.01}}\n"
                     "train: {log_every: 1, steps: ",
                     kSteps, "}\n"),
                 "bench"));
  double begin = 0;
  TrainCallbacks callbacks;
  callbacks.on_step = [&](const StepReport& report) {
    if (report.step == kWarmUp) begin = wall_seconds();
  };
  trainer.run(callbacks);
  return (wall_seconds() - begin) / (kSteps - kWarmUp);
}

}  // namespace millrace::bench
