// StepPlan: everything that a step needs for one number of rows: the plan of the model, the plan of its scores, and a
// slot for each batch that may be under way.
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
#include "millrace/core/replay.h"
#include "millrace/core/threads/executor.h"
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
  // The parts of a step that are recorded: the whole step or, if the loss decides how the step goes on, the part before
  // that decision and the part after it (kBehind). kWhole and kBehind are the first of four numbers each: 1 is added
  // for the first batch of an update, 2 for the last one.
  static constexpr size_t kWhole = 0, kBehind = 4, kBefore = 8, kParts = 9;
  // kAlone: the whole step of a batch that makes an update by itself. kGroup neighbours of these can go in one launch.
  static constexpr size_t kAlone = kWhole + 3, kGroup = 4;

  struct Slot {
    StepInputs inputs;
    ScoreCopy scores = {};
    std::array<Replay, kParts> parts = {};
    bool loaded = false;  // its inputs hold a batch
  };

  StepPlan(const StepPlanArgs& args, int64_t batch_rows);

  // Gives the work of a part to the context, or its recording if there is one.
  const Replay& play(Context& context, Slot& slot, size_t part, FunctionRef<void()> work);
  // Gives the context the recordings of kAlone in the slots of a group, whose first slot is `first`. The result says
  // why they went one by one, or is empty.
  const std::string& launch_group(Context& context, size_t first);
  // For the batch that was last loaded into the slot.
  ScoredBatch scored(const Slot& slot) const;

  int64_t rows;
  std::vector<Slot> slots;
  std::vector<ReplayChain> groups;
  std::unique_ptr<ModelPlan> model;
  std::unique_ptr<ScorePlan> scores;
  size_t bytes = 0;                    // on the device and on the host, at most
  std::array<bool, kParts> warm = {};  // the parts that ran, in any slot
};

}  // namespace millrace
