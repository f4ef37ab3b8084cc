// Comparison: runs the same training with one delivery after another, round after round, and measures what each takes.
//
//   Comparer comparer(read_yaml_file("queue_vs_feed.yaml"));
//   const Comparison comparison = *comparer.run();
//
// Every training is made anew, and only one runs at a time. They take turns, A B C A B C, so that a machine that
// becomes slower or faster does so for all of them. One thread uses a Comparer. Nothing is printed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/cli/compare/timed_training.h"
#include "millrace/core/spec.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/compare_options.h"
#include "millrace/trainer/input/workers.h"

namespace millrace {

struct ComparedDelivery {
  std::string name;
  DeliveryKind kind = DeliveryKind::native;
  int64_t batch_size = 0;
  Spread step_seconds;  // for a step, input included
  double rows_per_second = 0;
  double processor_seconds = 0;  // for a step, all threads together
  // Medians for a step: where the time of the training thread went. The rest is the step itself.
  double make_seconds = 0, wait_seconds = 0, copy_seconds = 0;
  double input_wait = 0;  // their share of the step's time
  // For a delivery with a queue: how many batches were in it after a step, on average; how many it can hold; and how
  // many were in it after each step of the last round.
  std::optional<double> mean_queued;
  int64_t capacity = 0;
  std::vector<int64_t> queued;
  // The least seconds that a step could take with this delivery on these cores; absent if no `constant` with batches of
  // this size was run.
  std::optional<double> bound_seconds;
  std::string weights;  // sha-256 of the model that it trained
  // Whether it must have trained the same model as the others for which this is true: it is not `constant`, and its
  // batches have the configuration's size.
  bool same_training = false;

  double step_only_seconds() const { return step_seconds.median - make_seconds - wait_seconds - copy_seconds; }
};

struct Comparison {
  std::string device, processor, version;
  int threads = 0, processors = 0;
  int64_t batch_size = 0;
  int64_t steps = 0;    // of each training
  int64_t warm_up = 0;  // the first steps of these, which are not timed
  int64_t rounds = 0;
  std::vector<ComparedDelivery> deliveries;  // in the order of the configuration
  // How much one delivery differed from itself within a round, as a share, median. Smaller differences between
  // deliveries mean nothing.
  double noise = 0;
  std::string noise_of;      // the delivery that was measured twice for the noise
  int64_t input_rows = 0;    // rows of a batch, by the configuration
  double input_seconds = 0;  // processor time that such a batch takes to make, on one thread

  // Whether all deliveries with `same_training` ended with the same weights.
  bool equal_weights() const;
  // The first delivery of this kind, with batches of `rows` rows if that is given; null if there is none.
  const ComparedDelivery* find(DeliveryKind kind, std::optional<int64_t> rows = {}) const;
  // How many times as many rows per second as the first `feed`; absent if there is none.
  std::optional<double> over_feed(const ComparedDelivery& delivery) const;
};

struct CompareRun {
  std::stop_token stop = {};  // ends it soon
  // Called before each training with its round, from 1, the number of rounds, and the name of the delivery. Round 0
  // warms up.
  std::function<void(int64_t round, int64_t rounds, std::string_view name)> on_training = [](auto...) {};
};

class Comparer {
 public:
  // Checks the configuration as a whole and with every delivery. Throws as Trainer::from_spec(), and ConfigError if the
  // data can be read only once, or if no steps would be left to time.
  explicit Comparer(const Spec& config, const Catalog& catalog = Catalog::builtin());

  // Call it once. Throws what the trainings throw; no value after a stop.
  std::optional<Comparison> run(const CompareRun& how = {});
  // The files that the trainings read and write.
  const InputFiles& files() const { return files_; }

 private:
  // One delivery, and its trainings.
  struct Contestant {
    ComparedDelivery result = {};
    Spec config = {};
    std::vector<TimedRun> runs = {};  // by round

    // The spread of a step's time over the rounds; `seconds` returns the time of a run for all of its timed steps.
    Spread each_step(double (*seconds)(const TimedRun& run)) const;
  };

  void add(const CompareItem& item, const Spec& base, const Config& read);
  std::optional<TimedRun> train(Contestant& contestant, const CompareRun& how);
  double input_seconds(const std::stop_token& stop);
  void finish();
  void find_bounds();
  ConfigError nothing_to_time(int64_t steps) const;

  const Catalog catalog_;
  const Spec written_;
  CompareOptions options_;
  InputFiles files_;
  std::vector<Contestant> contestants_;
  size_t repeated_ = 0;                       // the contestant that runs twice in a round
  std::vector<double> differences_, inputs_;  // one for each round
  std::unique_ptr<LocalWorkers> workers_;     // if a delivery uses them
  Comparison out_;
};

}  // namespace millrace
