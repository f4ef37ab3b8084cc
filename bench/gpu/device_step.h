// DeviceStep: the training step of a configuration on one batch that lies in the device's memory: the work of
// TrainStep, without bringing the batch there. On CUDA it is one graph, launched again and again; the host never waits.
//
//   DeviceStep step(configuration);
//   for (int i = 0; i < 100; ++i) step.run();
//   step.context().synchronize();
//
// Kinds whose numbers change from step to step (dropout, schedules) would keep the numbers of the first step.
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
  // Throws the same errors as a Trainer for this configuration.
  explicit DeviceStep(const Spec& configuration);
  ~DeviceStep();

  // Gives the step to the context.
  void run();
  // Gives it up to `most` steps and returns how many: as many as a training launches together, or one.
  int run_several(int most);
  // The loss of the last step; waits for it.
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
