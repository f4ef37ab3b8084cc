// Comparison: the same training with one delivery after another, round after round, and what each took.
//
//   Comparer comparer(read_yaml_file("queue_vs_feed.yaml"));
//   const Comparison comparison = comparer.run();
//
// Every training is made anew and runs alone. They take turns, A B C A B C, so that a machine that changes changes for
// all of them. One thread uses a Comparer; stop() may be called from any. Nothing is printed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/cli/compare/timed_training.h"
#include "millrace/core/spec.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/compare_options.h"

namespace millrace {

struct ComparedDelivery {
  std::string name;
  DeliveryKind kind = DeliveryKind::native;
  int64_t batch_size = 0;
  Spread step_seconds;  // of a step, input included
  double rows_per_second = 0;
  double processor_seconds = 0;  // of a step, of all threads
  // Of a step, medians: where the time of the training thread went. The rest is the step itself.
  double make_seconds = 0, wait_seconds = 0, copy_seconds = 0;
  double input_wait = 0;  // their share
  // Of a queue: batches that lay in it behind a step, on average, how many it holds, and the course of the last round.
  std::optional<double> mean_queued;
  int64_t capacity = 0;
  std::vector<int64_t> queued;
  // What the cores allow: the least seconds that a step could take with this delivery; absent where no `constant` with
  // these batches was run.
  std::optional<double> bound_seconds;
  std::string weights;  // sha-256 of the model that it trained
  // Whether it must have trained the same model as the others of this kind: all but `constant`, and those with batches
  // of the configuration's size alone.
  bool same_training = false;

  double step_only_seconds() const { return step_seconds.median - make_seconds - wait_seconds - copy_seconds; }
};

struct Comparison {
  std::string device, processor, version;
  int threads = 0, processors = 0;
  int64_t batch_size = 0;
  int64_t steps = 0;    // of each training
  int64_t warm_up = 0;  // of these, not timed
  int64_t rounds = 0;
  std::vector<ComparedDelivery> deliveries;  // in the order of the configuration
  // How much the same delivery differed from itself within a round, median: what is closer together differs by nothing
  // that was measured.
  double noise = 0;
  std::string noise_of;      // which delivery that was
  int64_t input_rows = 0;    // of the configuration's own batches
  double input_seconds = 0;  // processor time of making a batch of that size on one thread

  // Whether all that trained the same ended with the same weights.
  bool equal_weights() const;
  // The first of this kind with batches of so many rows; null without one.
  const ComparedDelivery* find(DeliveryKind kind, int64_t rows) const;
  // How many times as fast, row for row, as the first `feed`; absent without one.
  std::optional<double> over_feed(const ComparedDelivery& delivery) const;
};

struct CompareCallbacks {
  // Before each training: the round, from 1, of how many, and the name of the delivery; round 0 warms up.
  std::function<void(int64_t round, int64_t rounds, std::string_view name)> on_training = {};
};

class Comparer {
 public:
  // Checks the configuration, and that of every delivery. Throws as Trainer::from_spec(), and ConfigError where the
  // data can be read only once, or nothing would be left to time.
  explicit Comparer(const Spec& config, const Catalog& catalog = Catalog::builtin());
  ~Comparer();
  Comparer(const Comparer&) = delete;
  Comparer& operator=(const Comparer&) = delete;

  // Once. Throws what the trainings do; no value after stop().
  std::optional<Comparison> run(const CompareCallbacks& callbacks = {});
  // Ends run() soon. Idempotent.
  void stop() noexcept;
  // What the trainings have to do with files.
  const InputFiles& files() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
