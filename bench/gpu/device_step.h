// DeviceStep: the training step of a configuration on one batch that lies in the device's memory: what TrainStep does
// with a batch, less bringing it there. On CUDA it is one graph, launched again and again; the host never waits.
//
//   DeviceStep step(configuration);
//   for (int i = 0; i < 100; ++i) step.run();
//   step.context().synchronize();
//
// Kinds whose numbers change from step to step (dropout, schedules) would go on with those of the first.
#pragma once

#include <memory>

#include "millrace/core/context.h"
#include "millrace/core/spec.h"
#include "millrace/input/rows/row_block.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"

namespace millrace::bench {

class DeviceStep {
 public:
  // Throws what a Trainer would for the same configuration.
  explicit DeviceStep(const Spec& configuration);
  ~DeviceStep();

  // Gives the step to the context.
  void run();
  // Gives it `most` steps, or fewer, and says how many: as many as a training has go together in one launch, else one.
  int run_several(int most);
  // Of the last step; waits for it.
  double loss();
  // Whether run() launches a graph from now on.
  bool recorded() const;

  Context& context();
  const Config& config() const;
  const Model& model() const;
  // The batch as the input graph made it, in the host's memory.
  const RowBlock& batch() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::bench
