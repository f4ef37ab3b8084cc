#include "millrace/trainer/checkpoint/training_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "millrace/core/errors.h"
#include "tests/core/state_bytes.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/checkpoint/open_training.h"

namespace millrace::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// 60 rows in batches of 8: 7 steps and one of 4 rows.
constexpr const char* kTraining =
    "seed: 5\ndevice: cpu\nthreads: 2\n"
    "input:\n  - synthetic: {features: 6, rows: 60}\n"
    "  - shuffle_batch: {batch_size: 8, min_after_dequeue: 9, allow_smaller_final_batch: true}\n"
    "model:\n  - dense: {units: 5, activation: tanh}\n  - batch_norm\n  - dropout\n  - dense: {units: 1}\n"
    "loss: sigmoid_cross_entropy\nmetrics: [accuracy, auc]\noptimizer: {adam: {learning_rate: 0.05}}\n";

Spec training(const std::vector<std::string>& overrides = {}) { return training_spec(kTraining, overrides); }

constexpr const char* kValidation =
    "validation={input: [{synthetic: {features: 6, rows: 30}}, {batch: {batch_size: 12}}], every: 2, patience: 2, "
    "keep_best: {metric: loss, mode: max}}";
// With these settings no validation is better than the first one, so patience runs out after step 6.
const std::vector<std::string> kStandsStill = {kValidation, "optimizer={sgd: {learning_rate: 1e-30}}",
                                               "model=[{dense: {units: 1}}]"};

TEST(TrainingState, GoesOnFromEveryBorder) {
  for (const std::vector<std::string>& overrides : std::vector<std::vector<std::string>>{
           {"train.log_every=1"},
           {"train.log_every=3"},
           {"train.log_every=3", "train.report_over=window"},
           {"train.log_every=100", "train.report_over=window"},
           {"train.accumulate=3"},
           {"train.accumulate=3", "train.clip_norm=0.1", "train.clip_value=0.05", "train.on_nonfinite=skip"},
           {"train.accumulate=5", "optimizer={sgd: {learning_rate: 0.1}}", "train.log_every=2",
            "train.report_over=window"},
           {"train.clip_norm=0.1", "train.on_nonfinite=fail", "loss={sigmoid_cross_entropy: {weight: label}}"},
           {"train.steps=5"},
           {kValidation, "train.log_every=2"},
           {kValidation, "train.accumulate=3", "validation.every=3"},
           kStandsStill,
           {"validation={held_out: true, every: 3, keep_best: true}",
            "input=[{synthetic: {features: 6, rows: 60}}, {hold_out: {share: 0.25}}, {batch: {batch_size: 6}}]"},
       }) {
    EXPECT_EQ(restore_difference(training(overrides)), "") << ::testing::PrintToString(overrides);
  }
}

// A training may go on with other threads and another delivery: neither changes a result.
TEST(TrainingState, GoesOnElsewhere) {
  const std::vector<std::string> here = {"train.accumulate=3", "train.log_every=3", "train.report_over=window"};
  for (const std::vector<std::string>& elsewhere :
       std::vector<std::vector<std::string>>{{"threads=1", "delivery=feed"},
                                             {"threads=3", "delivery=queue"},
                                             {"delivery=staging", "input.shuffle_batch.capacity=100"}}) {
    EXPECT_EQ(restore_difference(training(here), Catalog::builtin(), elsewhere), "") << elsewhere[0];
    std::vector<std::string> other = here;
    other.insert(other.end(), elsewhere.begin(), elsewhere.end());
    EXPECT_EQ(restore_difference(training(other)), "") << elsewhere[0];
  }
}

TEST(TrainingState, GoesOnAmongSkippedStepsAndBadRows) {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 90; ++i) {
    const int a = i * 37 % 41 - 20, b = i * 23 % 29 - 14;
    text +=
        i % 13 == 6 ? "none,1,1\n" : cat(i == 20 || i == 44 ? "3e38" : cat(a), ',', b, ',', a + b > 0 ? 1 : 0, '\n');
  }
  const std::string rows = folder.write("rows.csv", text);
  const std::string yaml =
      cat("seed: 5\ndevice: cpu\nthreads: 2\ninput:\n  - filename_queue: {files: ", quote(rows, 4096),
          ", epochs: 2}\n  - csv_reader: {chunk_bytes: 100}\n"
          "  - decode_csv: {on_bad_row: skip, fields: {features: {columns: 0-1}, label: {columns: 2}}}\n"
          "  - print: {every: 25}\n  - batch: {batch_size: 8}\n"
          "model: [{dense: {units: 4}}, batch_norm, {dense: {units: 1}}]\nloss: sigmoid_cross_entropy\n"
          "metrics: [accuracy]\noptimizer: {sgd: {learning_rate: 0.1, momentum: 0.9}}\n");
  for (const std::vector<std::string>& overrides :
       std::vector<std::vector<std::string>>{{"train.on_nonfinite=skip"},
                                             {"train.on_nonfinite=skip", "train.accumulate=4"},
                                             {"train.on_nonfinite=warn"}}) {
    const Spec spec = training_spec(yaml, overrides);
    EXPECT_EQ(restore_difference(spec), "") << overrides.size();
    OpenTraining straight(spec);
    straight.run();
    const auto told = [&](const std::string& part) {
      return std::count_if(straight.lines().begin(), straight.lines().end(),
                           [&](const std::string& line) { return line.find(part) != std::string::npos; });
    };
    EXPECT_EQ(told(cat("left out ", rows)), 14);
    EXPECT_EQ(told("warning: "), overrides[0] == "train.on_nonfinite=warn" ? 1 : 4) << "else it tells nothing";
  }
}

TEST(TrainingState, KeepsQuietAboutWhatWasSkippedBefore) {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 15; ++i) text += "3e38,1,1\n";
  const std::string rows = folder.write("rows.csv", text);
  const Spec spec = training_spec(
      cat("seed: 5\ndevice: cpu\nthreads: 1\ninput:\n  - filename_queue: {files: ", quote(rows, 4096),
          ", epochs: 1}\n  - csv_reader\n"
          "  - decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2}}}\n  - batch: {batch_size: 1}\n"
          "model: [{dense: {units: 4}}, {dense: {units: 1}}]\nloss: mse\noptimizer: {sgd: {learning_rate: 0.1}}\n"
          "train: {on_nonfinite: skip}\n"));
  EXPECT_EQ(restore_difference(spec), "");
  OpenTraining straight(spec);
  straight.run();
  ASSERT_EQ(straight.lines().size(), 12u) << "ten steps, that there are no more lines, and the end";
}

TEST(TrainingState, AFinishedTrainingIsFinished) {
  for (const std::vector<std::string>& overrides :
       std::vector<std::vector<std::string>>{kStandsStill, {"train.steps=4"}, {"train.accumulate=3"}}) {
    OpenTraining first(training(overrides));
    const std::vector<SavedTraining> saved = save_at_borders(first);
    OpenTraining again(training(overrides));
    again.restore(saved.back());
    const TrainResult result = again.run([&] { EXPECT_EQ(again.steps(), saved.back().steps); });
    EXPECT_EQ(result.steps, saved.back().steps);
    EXPECT_EQ(again.lines().back(), first.lines().back());
    if (overrides == kStandsStill) {
      EXPECT_EQ(result.reason, "no improvement");
      EXPECT_EQ(result.steps, 6);
    }
  }
}

// A validation that was cut short does not count; the training that goes on repeats it.
TEST(TrainingState, AValidationThatWasCutShortComesAgain) {
  const Spec spec = training({kValidation, "train.log_every=2"});
  OpenTraining straight(spec);
  straight.run();
  OpenTraining stopped(spec);
  stopped.stops_after = 4;
  const SavedTraining last = std::move(save_at_borders(stopped).back());
  ASSERT_EQ(last.steps, 4);
  ASSERT_TRUE(straight.lines().at(last.lines).starts_with("validation of step 4 ")) << straight.lines()[last.lines];
  OpenTraining heir(spec);
  heir.restore(last);
  heir.run();
  EXPECT_EQ(difference_of(straight.lines(), last.lines, heir.lines()), "");
}

TEST(TrainingState, MoreStepsGoOnAsIfTheyHadAlwaysBeenWanted) {
  OpenTraining shorter(training({"train.steps=4", "train.accumulate=3"})), longer(training({"train.accumulate=3"}));
  const std::vector<SavedTraining> saved = save_at_borders(shorter);
  longer.run();
  OpenTraining heir(training({"train.accumulate=3"}));
  heir.restore(saved.back());
  heir.run();
  EXPECT_EQ(difference_of(longer.lines(), saved.back().lines, heir.lines()), "");
}

TEST(TrainingState, ListsTheTensorsThatCountNow) {
  OpenTraining open(training({kValidation, "train.accumulate=3", "train.on_nonfinite=skip"}));
  const std::vector<SavedTraining> saved = save_at_borders(open);
  const auto names = [](const SavedTraining& one) {
    std::vector<std::string> out;
    for (const auto& [name, tensor] : one.tensors) {
      if (name.ends_with("dense.bias") || name.ends_with(".mean")) out.push_back(name);
    }
    return out;
  };
  EXPECT_THAT(names(saved.at(0)),
              ElementsAre("batch_norm.mean", "dense.bias", "optimizer/0/dense.bias", "optimizer/1/dense.bias"));
  EXPECT_THAT(names(saved.at(1)),
              ElementsAre("batch_norm.mean", "before/batch_norm.mean", "dense.bias", "gradients/dense.bias",
                          "optimizer/0/dense.bias", "optimizer/1/dense.bias"));
  EXPECT_THAT(names(saved.at(3)), ElementsAre("batch_norm.mean", "best/batch_norm.mean", "best/dense.bias",
                                              "dense.bias", "optimizer/0/dense.bias", "optimizer/1/dense.bias"))
      << "an update has just been made, and step 2 was validated";
}

TEST(TrainingState, KnowsBeforehandWhichTensorsMayCount) {
  const auto names = [](const std::vector<std::string>& overrides) {
    OpenTraining open(training(overrides));
    std::vector<std::string> out;
    size_t bytes = 0;
    for (const NamedTensor& tensor : open.state().all_tensors()) {
      bytes += tensor.values.bytes();
      if (tensor.name.ends_with("dense.bias") || tensor.name.ends_with(".mean")) out.push_back(tensor.name);
    }
    EXPECT_EQ(open.state().most_bytes(), bytes);
    std::ranges::sort(out);
    return out;
  };
  EXPECT_THAT(names({kValidation, "train.accumulate=3", "train.on_nonfinite=skip"}),
              ElementsAre("batch_norm.mean", "before/batch_norm.mean", "best/batch_norm.mean", "best/dense.bias",
                          "dense.bias", "gradients/dense.bias", "optimizer/0/dense.bias", "optimizer/1/dense.bias"));
  EXPECT_THAT(names({}),
              ElementsAre("batch_norm.mean", "dense.bias", "optimizer/0/dense.bias", "optimizer/1/dense.bias"));
}

class RefusedState : public ::testing::Test {
 protected:
  // The error of restore(). Afterwards the training must go as if restore() had not been called.
  std::string error_of(const SavedTraining& saved, const std::vector<std::string>& overrides = {}) {
    std::vector<std::string> all = base_;
    all.insert(all.end(), overrides.begin(), overrides.end());
    OpenTraining straight(training(all)), refusing(training(all));
    std::string out = "no error";
    const SavedTraining before = refusing.save();
    try {
      refusing.restore(saved);
    } catch (const DataError& error) {
      out = error.what();
    }
    EXPECT_EQ(difference_of(before, refusing.save()), "") << out;
    straight.run();
    refusing.run();
    EXPECT_EQ(difference_of(straight.lines(), 0, refusing.lines()), "") << out;
    return out;
  }
  SavedTraining saved_after(size_t steps) const {
    OpenTraining open(training(base_));
    return std::move(save_at_borders(open).at(steps));
  }
  template <class Change>
  static SavedTraining with_numbers(SavedTraining saved, const Change& change) {
    State numbers = State::decode(saved.numbers);
    change(numbers);
    saved.numbers = numbers.encode();
    return saved;
  }

  const std::vector<std::string> base_ = {kValidation, "train.accumulate=3", "train.on_nonfinite=skip",
                                          "train.report_over=window", "train.log_every=3"};
};

TEST_F(RefusedState, NamesTheTensorThatIsAbsentOrOfAnotherShape) {
  const SavedTraining saved = saved_after(4);
  const std::string hint = "; it was saved by another version or another configuration";
  for (const char* name : {"dense_2.weight", "batch_norm.variance", "optimizer/1/dense.bias", "gradients/dense.bias",
                           "before/batch_norm.mean", "best/batch_norm.weight"}) {
    SavedTraining without = saved_after(4);
    ASSERT_EQ(without.tensors.erase(name), 1u) << name;
    EXPECT_EQ(error_of(without), cat("the saved state has no tensor ", quote(name), hint));
  }
  EXPECT_EQ(error_of(saved, {"model[0].units=7"}),
            "the saved tensor \"dense.weight\" is float32 (5, 6), the training's is float32 (7, 6)");
}

TEST_F(RefusedState, NamesTheNumberThatDoesNotFit) {
  const SavedTraining saved = saved_after(4);
  const std::string hint = "; it was changed, or it was saved by another version or another configuration";
  EXPECT_EQ(
      error_of(with_numbers(saved, [](State& numbers) { numbers.scope("step").scope("update").set("gathered", 3); })),
      "the saved state has 3 for \"gathered\", expected at most 2" + hint);
  EXPECT_EQ(error_of(with_numbers(saved, [](State& numbers) { numbers.scope("loop").set("window_ended", 2); })),
            "the saved state has 2 for \"window_ended\", expected at most 1" + hint);
  EXPECT_THAT(error_of(with_numbers(saved, [](State& numbers) { numbers.scope("loop").set("steps", UINT64_MAX); })),
              HasSubstr("the saved state has 18446744073709551615 for \"steps\", expected at most "));
  EXPECT_EQ(error_of(with_numbers(
                saved, [](State& numbers) { numbers.scope("validation").scope("best").set_text("metric", "auc"); })),
            "the saved best validation is the best by \"auc\", this training goes by loss");
  EXPECT_EQ(error_of(saved, {"metrics=[accuracy, auc, mae]", "loss=mse"}),
            "the saved state has no part \"mae\"; it was saved by another version or another configuration");
  EXPECT_THAT(error_of(saved, {"input.shuffle_batch.min_after_dequeue=10"}),
              HasSubstr("the input state was saved by another input"));
}

TEST_F(RefusedState, NamesThePartThatIsAbsent) {
  const SavedTraining saved = saved_after(4);
  const std::string hint = "; it was saved by another version or another configuration";
  for (const std::string_view part : {"step", "validation", "loop", "input"}) {
    State parts;
    for (const std::string_view other : {"step", "validation", "loop", "input"}) {
      if (other != part) parts.scope(other) = State::decode(saved.numbers).scope(other);
    }
    SavedTraining without = saved_after(4);
    without.numbers = parts.encode();
    EXPECT_EQ(error_of(without), cat("the saved state has no part ", quote(part), hint));
  }
}

// One part cannot check what another part must hold.
TEST(ChangedTrainingState, MayLackTheLossOfTheLastBatch) {
  const Spec spec = training({"train.steps=4"});
  OpenTraining open(spec);
  const SavedTraining saved = std::move(save_at_borders(open).back());
  const State whole = State::decode(saved.numbers);
  State numbers = whole, step;
  for (const std::string& key : whole.scope("step").keys()) {
    if (key != "loss") step.set(key, whole.scope("step").values(key));
  }
  for (const char* part : {"update", "scores"}) step.scope(part) = whole.scope("step").scope(part);
  numbers.scope("step") = step;
  OpenTraining heir(spec);
  heir.restore(saved, numbers);
  EXPECT_TRUE(std::isnan(heir.run().loss));
}

// A file with a right checksum may still hold any numbers. The training refuses a changed state, or trains on.
TEST(ChangedTrainingState, IsRefusedOrTrainsOn) {
  using testing_support::number_at;
  using testing_support::number_bytes;
  using testing_support::numbers_in;
  using testing_support::with_checksum;
  using testing_support::without_checksum;
  const Spec spec = training({kValidation, "train.accumulate=3", "train.on_nonfinite=skip", "train.report_over=window",
                              "train.log_every=3", "metrics=[accuracy, auc, f1]", "train.steps=6"});
  OpenTraining open(spec);
  const SavedTraining saved = std::move(save_at_borders(open).at(4));
  // The input's part has tests of its own.
  const State whole = State::decode(saved.numbers);
  State parts;
  for (const char* part : {"step", "loop", "validation"}) parts.scope(part) = whole.scope(part);
  const std::string body = without_checksum(parts.encode());
  int refused = 0, went_on = 0;
  const auto try_it = [&](const std::string& changed, const std::string& what) {
    OpenTraining heir(spec);
    try {
      State numbers = State::decode(with_checksum(changed));
      numbers.scope("input") = whole.scope("input");
      heir.restore(saved, numbers);
    } catch (const DataError&) {
      ++refused;
      return;
    }
    ++went_on;
    try {
      heir.run();
    } catch (const DataError&) {  // a restored accumulator may not fit the model
    } catch (const std::exception& error) {
      ADD_FAILURE() << what << ": " << error.what();
    }
  };
  for (const testing_support::SavedNumbers& numbers : numbers_in(body)) {
    for (size_t i = 0; i < std::min<size_t>(numbers.count, 3); ++i) {
      const uint64_t old = number_at(body, numbers.at(i));
      for (const uint64_t value :
           {uint64_t{0}, old + 1, old - 1, uint64_t{1} << 31, State::kMostCount, UINT64_MAX - 1}) {
        std::string changed = body;
        changed.replace(numbers.at(i), 8, number_bytes(value));
        try_it(changed, cat(numbers.key, '[', i, "] = ", value));
      }
    }
    for (const size_t count : {size_t{0}, numbers.count - 1, numbers.count + 1}) {
      if (count > 100 || count == numbers.count) continue;
      std::string list = body.substr(numbers.at(0), 8 * std::min(count, numbers.count));
      if (count > numbers.count) list += number_bytes(1);
      std::string changed = body;
      changed.replace(numbers.count_at, 8 * (numbers.count + 1), number_bytes(count) + list);
      try_it(changed, cat(numbers.key, " with ", count, " numbers"));
    }
  }
  EXPECT_GT(refused, 50);
  EXPECT_GT(went_on, 50);
}

}  // namespace
}  // namespace millrace::testing
