// StepPlan: everything that a step needs for one number of rows: the model's plan, that of its scores, and a slot for
// each batch that may be under way.
//
// Used by one thread. What StepPlanArgs refer to must outlive it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/executor.h"
#include "millrace/core/replay.h"
#include "millrace/layers/model/model.h"
#include "millrace/layers/model/model_plan.h"
#include "millrace/trainer/step/scores.h"
#include "millrace/trainer/step/step_inputs.h"

namespace millrace {

struct StepPlanArgs {
  Model& model;
  Context& context;
  const StepFields& fields;
  Scores& scores;
  GradientTarget gradient_target = GradientTarget::block_write;
  size_t slots = 1;
};

struct StepPlan {
  // What comes as one recording: all of the step or, where the loss decides how it goes on, what lies before and behind
  // that. All and behind are one of four from here on, by whether the batch is the first and the last one of its
  // update.
  static constexpr size_t kWhole = 0, kBehind = 4, kBefore = 8, kParts = 9;
  // All of a batch that makes an update by itself. What was recorded of it in kGroup neighbours can go in one launch.
  static constexpr size_t kAlone = kWhole + 3, kGroup = 4;

  struct Slot {
    StepInputs inputs;
    ScoreCopy scores = {};
    std::array<Replay, kParts> parts = {};
    bool loaded = false;  // its inputs hold a batch
  };

  StepPlan(const StepPlanArgs& args, int64_t batch_rows);

  // Gives the work of a part to the context, or what was recorded of it.
  const Replay& play(Context& context, Slot& slot, size_t part, FunctionRef<void()> work);
  // Gives the context what was recorded of kAlone in the slots of a group, of which `first` is the first one. The
  // result is why they went one by one, or empty.
  const std::string& launch_group(Context& context, size_t first);
  // With the batch that was loaded last.
  ScoredBatch scored(const Slot& slot) const;

  int64_t rows;
  std::vector<Slot> slots;
  std::vector<ReplayChain> groups;
  std::unique_ptr<ModelPlan> model;
  std::unique_ptr<ScorePlan> scores;
  size_t bytes = 0;                    // on the device and beside it, at most
  std::array<bool, kParts> warm = {};  // the parts that ran, in whatever slot
};

}  // namespace millrace
