#include "millrace/cli/compare/timed_training.h"

#include <algorithm>

namespace millrace {

Spread Spread::of(std::vector<double> values) {
  std::ranges::sort(values);
  const double low = values[(values.size() - 1) / 2], high = values[values.size() / 2];
  return {.median = (low + high) / 2, .min = values.front(), .max = values.back()};
}

double processor_seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Spec for_timing(Spec config) {
  for (const char* key : {"save", "checkpoint", "log", "validation", "compare"}) config.erase(key);
  return config;
}

std::optional<TimedRun> timed_training(const Spec& config, const Catalog& catalog, const TimedOptions& options) {
  TimedRun run;
  Trainer trainer = Trainer::from_spec(config, catalog);
  const std::stop_callback on_stop(options.stop, [&trainer] { trainer.stop(); });
  double begin = 0, processors_begin = 0;
  DeliveryTimes before;
  TrainCallbacks callbacks;
  callbacks.on_batch = [&](const BatchReport& report) {
    run.steps = report.step;
    if (report.step <= options.warm_up) {
      begin = report.seconds;
      processors_begin = processor_seconds(CLOCK_PROCESS_CPUTIME_ID);
      before = report.input;
      return;
    }
    ++run.timed;
    run.seconds = report.seconds - begin;
    run.processor_seconds = processor_seconds(CLOCK_PROCESS_CPUTIME_ID) - processors_begin;
    run.times = {.make_seconds = report.input.make_seconds - before.make_seconds,
                 .wait_seconds = report.input.wait_seconds - before.wait_seconds,
                 .copy_seconds = report.input.copy_seconds - before.copy_seconds};
    run.queued.push_back(report.queued);
    if (run.seconds >= options.seconds && run.timed >= options.least_steps) trainer.stop();
  };
  run.result = trainer.run(callbacks);
  if (options.stop.stop_requested()) return std::nullopt;
  return run;
}

}  // namespace millrace
