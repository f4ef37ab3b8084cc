// Schedule: the learning rate of each update, as a factor of the configured one. An option of every optimizer.
//
//   schedule: cosine: {steps: 10000, warmup: 500}
//
// Every schedule begins with `warmup` updates in which the rate rises linearly to where the schedule itself begins:
// with a warm-up of n, update number i from 0 has (i + 1) / n of it. After them the schedule counts its updates from 0.
// `steps` counts all updates, those of the warm-up too, so it can be the same number as train.steps. Behind its end a
// schedule keeps the last factor.
//
// A value; any thread may read it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "millrace/core/export.h"
#include "millrace/core/options.h"
#include "millrace/core/registry.h"

namespace millrace {

// One shape of a schedule.
class MILLRACE_EXPORT ScheduleShape {
 public:
  virtual ~ScheduleShape() = default;
  // `step` counts the updates before this one, from 0. Not negative, and the same bits on every processor. REQUIRES:
  // the default floating-point mode (FloatMode).
  virtual double factor(uint64_t step) const = 0;
};

using ScheduleRegistry = Registry<ScheduleShape>;
// The shapes that a configuration may name.
MILLRACE_EXPORT ScheduleRegistry schedules();

class MILLRACE_EXPORT Schedule {
 public:
  // The constant one.
  Schedule();
  // From `name` or `name: {options}`. Throws ConfigError.
  explicit Schedule(const Spec& spec);

  double factor(uint64_t step) const { return shape_ == nullptr ? 1 : shape_->factor(step); }
  // As it may be written, with every option.
  const Spec& spec() const { return spec_; }

 private:
  std::shared_ptr<const ScheduleShape> shape_;  // null: constant without a warm-up
  Spec spec_;
};

template <>
struct MILLRACE_EXPORT OptionType<Schedule> {
  static Schedule read(const Spec& spec) { return Schedule(spec); }
  static Spec write(const Schedule& value) { return value.spec(); }
  static std::string type();
  static std::vector<OptionForm> forms() { return {{.is = OptionForm::Is::kind, .sort = schedules().what()}}; }
};

}  // namespace millrace
