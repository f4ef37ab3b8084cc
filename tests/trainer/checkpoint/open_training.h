// OpenTraining: a training that is joined from its parts like a Trainer, but gives access to them, so that tests can
// save it between any two steps. restore_difference() tells whether a training that is saved, and restored elsewhere,
// goes on as if nothing had happened.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/float_mode.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/checkpoint/training_state.h"
#include "millrace/trainer/checkpoints.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/delivery/delivery.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/input/build_input.h"
#include "millrace/trainer/step/step.h"
#include "millrace/trainer/step/step_inputs.h"
#include "millrace/trainer/training_loop.h"
#include "millrace/trainer/validation.h"

namespace millrace::testing {

using Lines = std::vector<std::string>;

struct SavedTensor {
  TensorSpec spec;
  std::vector<std::byte> bytes;
  bool operator==(const SavedTensor&) const = default;
};

// A training between two steps.
struct SavedTraining {
  int64_t steps = 0;
  size_t lines = 0;     // lines that it had told so far
  std::string numbers;  // State::encode()
  std::map<std::string, SavedTensor> tensors = {};

  TrainingState::Lookup lookup() const {
    return [this](const std::string& name) {
      const auto found = tensors.find(name);
      if (found == tensors.end()) return ConstTensorView();
      const auto& [spec, bytes] = found->second;
      return ConstTensorView(bytes.data(), spec.dtype, spec.shape);
    };
  }
};

class OpenTraining {
 public:
  // The number of threads comes from `spec`.
  explicit OpenTraining(const Spec& spec, const Catalog& catalog = Catalog::builtin())
      : catalog_(catalog),
        config_(read_config(spec, catalog_)),
        executor_(config_.threads),
        context_(device(), executor_, config_.precision),
        delivery_(Delivery::make(config_.delivery, build_input(config_, catalog_),
                                 {.executor = executor_, .pipeline = pipeline_options(), .saves = true})),
        model_(Model::build({.layers = std::move(config_.layers),
                             .inputs = named_specs(delivery_->graph().output().rows),
                             .seed = config_.seed},
                            context_)),
        step_(TrainStep::make({.model = model_,
                               .context = context_,
                               .loss = *config_.loss.loss,
                               .optimizer = *config_.optimizer,
                               .rows = delivery_->graph().output().rows,
                               .label = config_.loss.label,
                               .weight = config_.loss.weight,
                               .metrics = &config_.metrics,
                               .gradients = config_.train.gradients(),
                               .window_batches = config_.train.window_batches(),
                               .batches_in_flight = delivery_->kept(),
                               .one_batch = delivery_->repeats()})) {
    if (config_.validation) {
      validation_ = std::make_unique<Validation>(
          ValidationArgs{.config = config_, .registry = catalog_.ops, .model = model_, .context = context_});
    }
    loop_.emplace(TrainingLoopArgs{.config = config_,
                                   .context = context_,
                                   .delivery = *delivery_,
                                   .step = *step_,
                                   .validator = validation_.get(),
                                   .at_border = [this](bool) {
                                     if (at_border_) at_border_();
                                     return false;
                                   }});
    state_.emplace(TrainingStateArgs{
        .context = context_, .step = *step_, .loop = *loop_, .delivery = *delivery_, .validation = validation_.get()});
  }

  // Trains to the end; `at_border` is called between two steps.
  TrainResult run(std::function<void()> at_border = {}) {
    const FloatMode mode;
    at_border_ = std::move(at_border);
    TrainCallbacks callbacks;
    callbacks.on_step = [this](const StepReport& report) {
      tell(cat("step ", report.step, " of epoch ", report.epoch, " with ", report.batch_size,
               " rows: ", scores_text(report.loss, report.metrics)));
      if (report.step == stops_after) loop_->stop();
    };
    callbacks.on_validation = [this](const ValidationReport& report) {
      tell(cat("validation of step ", report.step, " of epoch ", report.epoch, " with ", report.rows,
               report.best ? " rows, the best: " : " rows: ", scores_text(report.loss, report.metrics)));
    };
    callbacks.on_log = [this](std::string_view text) { tell(std::string(text)); };
    TrainResult result = loop_->run(callbacks);
    tell(text_of(result));
    return result;
  }

  SavedTraining save() {
    SavedTraining out{.steps = loop_->steps(), .lines = lines_.size(), .numbers = state_->numbers().encode()};
    std::map<std::string, TensorSpec> most;
    for (const NamedTensor& tensor : state_->all_tensors()) most[tensor.name] = tensor.values.spec();
    for (const NamedTensor& tensor : state_->tensors()) {
      const TensorSpec spec = tensor.values.spec();
      SavedTensor& host = out.tensors[tensor.name] = {spec, std::vector<std::byte>(spec.bytes())};
      context_.copy(host.bytes.data(), tensor.values.data(), spec.bytes());
      EXPECT_TRUE(most.contains(tensor.name) && most[tensor.name] == spec) << tensor.name;
    }
    context_.synchronize();
    return out;
  }
  void restore(const SavedTraining& saved) { restore(saved, State::decode(saved.numbers)); }
  // Restores the tensors of `saved` with other numbers.
  void restore(const SavedTraining& saved, const State& numbers) { state_->restore(numbers, saved.lookup()); }

  // The arguments for Checkpoints of this training.
  CheckpointsArgs checkpoints_args(FileCalls& calls = FileCalls::system()) {
    return {.config = config_,
            .catalog = catalog_,
            .context = context_,
            .parts = {.context = context_,
                      .step = *step_,
                      .loop = *loop_,
                      .delivery = *delivery_,
                      .validation = validation_.get()},
            .metadata = [this] { return saved_metadata({.config = config_.resolved}); },
            .loss = [this] { return step_->loss(); },
            .calls = calls,
            .on_written = [this](const CheckpointReport& report) { tell(cat("written: step ", report.step)); },
            .on_warning = [this](const std::string& text) { tell(text); }};
  }
  int64_t steps() const { return loop_->steps(); }
  const TrainingState& state() const { return *state_; }

  // The lines that the training told so far; at the end, also its result.
  const Lines& lines() const { return lines_; }

  int64_t stops_after = -1;  // the training is stopped after the report of this step

 private:
  Device device() const {
    std::vector<std::string> warnings;
    return device_of(config_, warnings);
  }
  PipelineOptions pipeline_options() {
    return {.on_bad_row = [this](const BadRow& bad) { tell(cat("left out ", bad.place.text(), ": ", bad.reason)); },
            .on_print = [this](std::string_view text) { tell(std::string(text)); },
            .reader = context_.device()};
  }
  void tell(std::string line) { lines_.push_back(std::move(line)); }

  // Bit patterns, so that every bit is compared.
  static std::string scores_text(double loss, const MetricValues& metrics) {
    std::string out = cat("loss ", std::bit_cast<uint64_t>(loss));
    for (const auto& [name, value] : metrics) out += cat(", ", name, ' ', std::bit_cast<uint64_t>(value));
    return out;
  }
  static std::string text_of(const TrainResult& result) {
    std::string out =
        cat(result.reason, " after ", result.steps, " steps, ", result.skipped_steps, " skipped, ", result.rows,
            " rows, ", result.epochs, " epochs, the last batch of ", result.last_batch, ": ",
            scores_text(result.loss, result.metrics), "; weights ", result.weights, "; input ", result.input.rows,
            " rows, ", result.input.batches, " batches, ", result.input.bad_rows, " bad");
    for (const Dropped& dropped : result.input.dropped) out += cat(", ", dropped.rows, " left out by ", dropped.cause);
    if (!result.best) return out;
    return cat(out, "; best by ", result.best->metric, " at step ", result.best->step, ": ",
               std::bit_cast<uint64_t>(result.best->value));
  }

  const Catalog catalog_;
  Config config_;
  Executor executor_;
  Context context_;
  Lines lines_;
  std::function<void()> at_border_;
  std::unique_ptr<Delivery> delivery_;
  Model model_;
  std::unique_ptr<TrainStep> step_;
  std::unique_ptr<Validation> validation_;
  std::optional<TrainingLoop> loop_;
  std::optional<TrainingState> state_;
};

// Parses a training from YAML, and applies overrides.
inline Spec training_spec(const std::string& yaml, const std::vector<std::string>& overrides = {},
                          const Catalog& catalog = Catalog::builtin()) {
  Spec spec = parse_yaml(yaml, "training.yaml");
  apply_overrides(spec, overrides, catalog);
  return spec;
}

// The saved training before each step and after the last one, in order.
inline std::vector<SavedTraining> save_at_borders(OpenTraining& training) {
  std::vector<SavedTraining> out;
  training.run([&] { out.push_back(training.save()); });
  return out;
}

// The first difference between two saved trainings; empty if there is none. Inputs are not compared: they have tests of
// their own, and may save the same place in several ways.
inline std::string difference_of(const SavedTraining& expected, const SavedTraining& got) {
  const State a = State::decode(expected.numbers), b = State::decode(got.numbers);
  for (const char* part : {"step", "loop", "validation"}) {
    if (a.has(part) != b.has(part)) return cat("the part ", part);
    if (a.has(part) && !(a.scope(part) == b.scope(part))) return cat("numbers of ", part);
  }
  if (expected.tensors.size() != got.tensors.size()) return "tensors";
  for (const auto& [name, tensor] : expected.tensors) {
    const auto other = got.tensors.find(name);
    if (other == got.tensors.end() || !(other->second == tensor)) return cat("values of ", name);
  }
  return {};
}

// The first line that differs; empty if there is none.
inline std::string difference_of(const Lines& expected, size_t begin, const Lines& got) {
  for (size_t i = begin; i < std::max(expected.size(), begin + got.size()); ++i) {
    const std::string wanted = i < expected.size() ? expected[i] : "nothing";
    const std::string told = i - begin < got.size() ? got[i - begin] : "nothing";
    if (wanted != told) return cat('"', told, "\" in place of \"", wanted, '"');
  }
  return {};
}

// Trains once without a save, and once with a save at every border. Then a new training, with the settings `elsewhere`,
// goes on from each save. All must report, count and learn the same. Returns the first difference; empty if there is
// none.
inline std::string restore_difference(const Spec& config, const Catalog& catalog = Catalog::builtin(),
                                      const std::vector<std::string>& elsewhere = {}) {
  OpenTraining straight(config, catalog), saving(config, catalog);
  straight.run();
  const std::vector<SavedTraining> saved = save_at_borders(saving);
  if (const std::string found = difference_of(straight.lines(), 0, saving.lines()); !found.empty()) {
    return cat("if it is saved: ", found);
  }
  Spec other = config;
  apply_overrides(other, elsewhere, catalog);
  for (const SavedTraining& one : saved) {
    OpenTraining heir(other, catalog);
    heir.restore(one);
    std::string found = difference_of(one, heir.save());
    if (!found.empty()) return cat("restored after step ", one.steps, " has other ", found);
    heir.run();
    found = difference_of(straight.lines(), one.lines, heir.lines());
    if (!found.empty()) return cat("restored after step ", one.steps, ": ", found);
  }
  return saved.size() < 3 ? "there were too few steps to tell" : "";
}

}  // namespace millrace::testing
