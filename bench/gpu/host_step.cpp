#include "bench/gpu/host_step.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/threads/executor.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/input/build_input.h"
#include "millrace/trainer/step/step.h"
#include "millrace/trainer/step/step_plan.h"

namespace millrace::bench {

namespace {

constexpr int kSteps = 2 * StepPlan::kGroup;  // in flight, so that no batch waits for an earlier one
constexpr size_t kLeast = 3, kMost = 50;      // rounds; after kLeast of them, they end after a second
constexpr double kSeconds = 1;

}  // namespace

double host_us_a_step(const Spec& configuration) {
  using Clock = std::chrono::steady_clock;
  Config config = read_config(configuration, Catalog::builtin());
  std::vector<std::string> warnings;
  Executor executor(config.threads);
  Context context(device_of(config, warnings), executor, config.precision);
  Pipeline pipeline(build_input(config, Catalog::builtin()), {.executor = &executor, .reader = context.device()});
  std::vector<RowBlock> batches;
  for (int i = 0; i < kSteps; ++i) {
    batches.push_back(pipeline.make_slot());
    if (pipeline.next(batches.back()) == 0) throw DataError("there are too few batches to train on");
  }
  Model model = Model::build(
      {.layers = std::move(config.layers), .inputs = named_specs(batches.front().spec()), .seed = config.seed},
      context);
  const auto step = TrainStep::make({.model = model,
                                     .context = context,
                                     .loss = *config.loss.loss,
                                     .optimizer = *config.optimizer,
                                     .rows = batches.front().spec(),
                                     .label = config.loss.label,
                                     .batches_in_flight = kSteps});
  std::vector<double> took;
  const Clock::time_point first = Clock::now();
  const auto seconds_since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  while (took.size() < kLeast || (took.size() < kMost && seconds_since(first) < kSeconds)) {
    const Clock::time_point begin = Clock::now();
    for (const RowBlock& batch : batches) step->run(batch);
    step->model();  // launches the steps that wait
    took.push_back(1e6 * seconds_since(begin) / kSteps);
    static_cast<void>(step->loss());  // waits
    context.synchronize();
  }
  std::sort(took.begin(), took.end());
  return took[took.size() / 2];
}

}  // namespace millrace::bench
