// Trainings with checkpoints, for tests: they end early, others go on, and what comes out is compared.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/trainer/trainer.h"

namespace millrace::testing {

// The key, with further options.
inline std::string checkpoint_key(const std::string& dir, std::string_view options) {
  return cat("checkpoint: {dir: ", quote(dir, 4096), ", ", options, "}\n");
}

inline std::string checkpoint_path(const std::string& dir, int64_t step) {
  const std::string digits = cat(step);
  return cat(dir, "/checkpoint-", std::string(9 - digits.size(), '0'), digits, ".safetensors");
}

// Of the checkpoints in the folder, in order.
inline std::vector<int64_t> checkpoints_in(const std::string& dir) {
  std::vector<int64_t> out;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".safetensors")) out.push_back(std::stoll(name.substr(name.find('-') + 1)));
  }
  std::ranges::sort(out);
  return out;
}

// Trains until `step` steps are done.
inline TrainResult run_until(Trainer& trainer, int64_t step, TrainCallbacks callbacks = {}) {
  callbacks.on_batch = [&trainer, step, also = std::move(callbacks.on_batch)](const BatchReport& report) {
    if (also) also(report);
    if (report.step >= step) trainer.stop();
  };
  return trainer.run(callbacks);
}

// Goes on from the newest checkpoint.
inline TrainResult run_on(Trainer& trainer, const TrainCallbacks& callbacks = {}) {
  trainer.resume();
  return trainer.run(callbacks);
}

// Every bit of loss and metrics.
inline std::string scores_text(double loss, const MetricValues& metrics) {
  std::string out = cat("loss ", std::bit_cast<uint64_t>(loss));
  for (const auto& [name, value] : metrics) out += cat(", ", name, ' ', std::bit_cast<uint64_t>(value));
  return out;
}

// What a training came to, whatever happened on the way.
inline std::string outcome_of(const TrainResult& result) {
  std::string out =
      cat(result.reason, " after ", result.steps, " steps, ", result.skipped_steps, " skipped, ", result.rows,
          " rows, ", result.epochs, " epochs, the last batch of ", result.last_batch, ": ",
          scores_text(result.loss, result.metrics), "; weights ", result.weights, "; bad rows ", result.input.bad_rows);
  for (const Dropped& dropped : result.input.dropped) out += cat(", ", dropped.rows, " left out by ", dropped.cause);
  if (!result.best) return out;
  return cat(out, "; best by ", result.best->metric, " at step ", result.best->step, ": ",
             std::bit_cast<uint64_t>(result.best->value));
}

}  // namespace millrace::testing
