// StepPlan: everything that a step needs for one number of rows: the plan of the model, the plan of its scores, and a
// slot for each batch that may be under way. StepNumbers: the numbers of a slot's step.
//
// Used by one thread. The objects that StepPlanArgs and StepNumbers refer to must outlive them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/replay.h"
#include "millrace/layers/model/model.h"
#include "millrace/layers/model/model_plan.h"
#include "millrace/layers/optimizer.h"
#include "millrace/trainer/step/scores.h"
#include "millrace/trainer/step/step_inputs.h"

namespace millrace {

// The numbers that change from step to step: the number of the pass and the optimizer's scalars. They lie in the
// device's memory, so that a recorded step need not change (core/replay.h).
class StepNumbers {
 public:
  StepNumbers(Device device, const Optimizer& optimizer);

  // The numbers of a step that comes after `passes` forward passes and `updates` updates, which are copied to the
  // device without waiting. REQUIRES: the previous copy has ended.
  void bring(Context& context, uint64_t passes, uint64_t updates);

  // On the device.
  const uint64_t* pass() const { return static_cast<const uint64_t*>(there_.data()); }
  const float* scalars() const { return reinterpret_cast<const float*>(pass() + 1); }

  size_t bytes() const { return here_.bytes() + there_.bytes(); }

 private:
  const Optimizer& optimizer_;
  Memory here_, there_;  // on the host, and on the device
};

struct StepPlanArgs {
  Model& model;
  Context& context;
  const Optimizer& optimizer;
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
    StepNumbers numbers;
    Memory scores = {};
    std::array<Replay, kParts> parts = {};
    bool loaded = false;  // its inputs hold a batch
  };

  StepPlan(const StepPlanArgs& args, int64_t batch_rows);

  // Gives the work of a part to the context, or its recording if there is one.
  const Replay& play(Context& context, Slot& slot, size_t part, FunctionRef<void()> work);
  // Gives the context the recordings of kAlone in the slots of a group, whose first slot is `first`. The result says
  // why they went one by one, or is empty.
  const std::string& launch_group(Context& context, size_t first);
  // The values for the scores of the batch that was last loaded into the slot.
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
