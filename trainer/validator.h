// Validator: what a training does with its key `validation`: reads its rows, judges the model by them, remembers the
// best one.
//
//   Validator validator({.options = *config.validation, ..});
//   if (auto report = validator.run(step, epoch)) ...
//   validator.put_back_best();
//
// run() reads the model and never changes it, nor anything else that the training goes by. One thread uses a Validator;
// stop() may be called from any. What its arguments refer to must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/predict/evaluator.h"
#include "millrace/trainer/trainer.h"

namespace millrace {

struct ValidatorArgs {
  const Config& config;        // with a validation
  const OpRegistry& registry;  // copied
  Model& model;
  Context& context;
  std::function<void(std::string_view)> on_print = {};
};

class Validator {
 public:
  // Builds and checks the graph. Throws as InputGraph::build(), and ConfigError when its rows do not fit the model, the
  // loss or a metric.
  explicit Validator(const ValidatorArgs& args);
  ~Validator();
  Validator(const Validator&) = delete;
  Validator& operator=(const Validator&) = delete;

  // What run() reads, as it was when this was made.
  const InputGraph& input() const;
  // What a pass leaves out of the list, and what the graph warns about.
  const std::vector<std::string>& warnings() const;
  uint64_t memory_bound();

  // Makes what the first run() needs, ahead of time.
  void prepare();
  // Reads every row afresh. Empty: stopped, and nothing counts. Throws what a training throws about its data.
  std::optional<ValidationReport> run(int64_t step, uint64_t epoch);
  // The step of the last run(), or -1.
  int64_t validated() const;
  // Whether `patience` is at its end.
  bool gave_up() const;
  // With keep_best: gives the model the parameters and states of the best validation and says which one it was. Empty,
  // with nothing changed, when none had a number.
  std::optional<BestStep> put_back_best();

  // Makes run() return soon, also one that comes later. Idempotent.
  void stop() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
