// Optimizer: how gradients change parameters. It is only configuration; its state for each parameter belongs to the
// step. Then come parts that authors of optimizers share: ScaledGradient, ExactNumber, and UpdateOptions with a
// Schedule.
//
// An optimizer must
// - multiply every gradient by `gradient_scale` before it does anything else with it (ScaledGradient does so):
//   clipping and loss scaling rely on it;
// - update each element by itself, so that one call for neighbours gives the same as a call for each;
// - leave an element at 0 if its parameter, gradient and slots are 0: the padding between parameters is like that.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/export.h"
#include "millrace/core/options.h"
#include "millrace/core/registry.h"
#include "millrace/core/tensor.h"
#include "millrace/core/text.h"

namespace millrace {

struct UpdateArgs {
  TensorView parameters = {};              // a run of neighbouring parameters, with their padding, as a vector
  ConstTensorView gradients = {};          // the same shape
  std::span<const TensorView> slots = {};  // state_slots() of the same shape, zero at first
  const float* scalars = nullptr;          // the numbers of scalars() for this update, in the device's memory
  // One number in the device's memory, read when the update runs; null is 1.
  const float* gradient_scale = nullptr;
  bool decay = false;  // whether weight decay applies to these parameters: what decays() says about each
};

class MILLRACE_EXPORT Optimizer : public HasOrigin {
 public:
  virtual ~Optimizer() = default;
  // Number of values kept for each element of a parameter (momentum: 1, Adam: 2).
  virtual int state_slots() const { return 0; }
  // How many numbers change from update to update (learning rates). scalars() writes them before each update, so that
  // nothing is planned again when they change.
  virtual int scalar_count() const { return 1; }
  // `step` counts the updates before this one, from 0; not the batches, because several batches may make one update.
  // REQUIRES: out.size() == scalar_count().
  virtual void scalars(uint64_t step, std::span<float> out) const = 0;
  // Whether weight decay applies to the parameter with this full name ("dense_2.bias"). The step calls update() once
  // for each longest run of neighbouring parameters with the same answer.
  virtual bool decays(std::string_view) const { return false; }
  // Whether the update is exactly parameter += scalars[0] * gradient. Then the planner may let backward add to the
  // parameters directly, if nothing scales the gradients. update() gives the same up to rounding.
  virtual bool adds_scaled_gradient() const { return false; }
  // Allocates nothing and synchronises nothing. On CUDA it is recorded once and then launched again and again: numbers
  // that change from update to update come from the scalars.
  virtual void update(Context& context, const UpdateArgs& args) const = 0;
};

using OptimizerRegistry = Registry<Optimizer>;

// The gradients as an update must see them, for the functors of optimizers.
//
//   parameter[i] -= rate * gradient[i];   // gradient: ScaledGradient<T>(args)
template <class T>
struct ScaledGradient {
  const T* values;
  const float* scale;  // null: 1

  explicit ScaledGradient(const UpdateArgs& args) : values(args.gradients.as<T>()), scale(args.gradient_scale) {}

  MILLRACE_HD T operator[](int64_t i) const {
    return scale != nullptr ? static_cast<T>(*scale) * values[i] : values[i];
  }
};

// The same plus the gradient of weight_decay / 2 * parameter^2, if decay applies.
template <class T>
struct DecayedGradient {
  ScaledGradient<T> gradient;
  const T* parameter;
  T decay;

  DecayedGradient(const UpdateArgs& args, double weight_decay)
      : gradient(args), parameter(args.parameters.as<T>()), decay(static_cast<T>(args.decay ? weight_decay : 0)) {}

  MILLRACE_HD T operator[](int64_t i) const { return gradient[i] + decay * parameter[i]; }
};

// A number that changes from update to update, kept as two floats of Optimizer::scalars(). Their sum has 48 bits, so
// the rates and corrections of a training in float64 are not rounded to 24 bits. Two numbers are single floats: the
// rate of plain SGD, by which backward adds gradients to parameters, and the scale of the gradients.
//
//   void scalars(uint64_t step, std::span<float> out) const { write_exact(rate(step), out, 0); }
//   ExactNumber<T>(args.scalars, 0)          // a member of the functor, which reads its value()
template <class T>
struct ExactNumber {
  const float* halves;

  ExactNumber(const float* scalars, int64_t index) : halves(scalars + 2 * index) {}

  // If T is float: the float nearest to the number.
  MILLRACE_HD T value() const { return static_cast<T>(halves[0]) + static_cast<T>(halves[1]); }
};

// How many scalars that many such numbers take.
constexpr int scalars_of(int numbers) { return 2 * numbers; }

// Writes `value` as number `index`. REQUIRES: |value| is no more than the greatest float.
inline void write_exact(double value, std::span<float> out, size_t index) {
  const auto high = static_cast<float>(value);
  out[2 * index] = high;
  out[2 * index + 1] = static_cast<float>(value - static_cast<double>(high));
}

class ScheduleShape;

// The learning rate of each update, as a factor of the configured one. An option of every optimizer.
//
//   schedule: cosine: {steps: 10000, warmup: 500}
//
// Every schedule begins with `warmup` updates in which the rate rises linearly to the rate that the schedule itself
// begins with: in a warm-up of n updates, update i (from 0) has (i + 1) / n of it. After them the schedule counts its
// updates from 0.
// `steps` counts all updates, the warm-up included, so it can be the same number as train.steps. After its end a
// schedule keeps the last factor.
//
// A value; any thread may read it.
class MILLRACE_EXPORT Schedule {
 public:
  // The constant schedule.
  Schedule();
  // From `name` or `name: {options}`. Throws ConfigError.
  explicit Schedule(const Spec& spec);

  double factor(uint64_t step) const;
  // The schedule as a configuration may write it, with every option.
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
  static std::vector<OptionForm> forms();
};

// The options that every optimizer has, declared once: its rate, the rate's schedule, and weight decay.
//
//   struct Options : UpdateOptions {
//     Options() { learning_rate = 0.01; }
//     void declare(OptionReader& o) { UpdateOptions::declare(o); .. }
//   };
struct UpdateOptions {
  double learning_rate = 0;  // 0: no default, so it is required
  Schedule schedule;
  double weight_decay = 0;
  std::vector<std::string> no_decay;

  void declare(OptionReader& o) {
    // Within these bounds a float holds the rate, the decay and what optimizers make of them: their product, and a rate
    // divided by 1 minus the kept share of a running mean, which is 1e-16 or more.
    const Range rates{.min = 1e-30, .max = 1e18};
    const char* const rate_doc = "how far a step goes against the gradient";
    if (learning_rate > 0) {
      o.optional("learning_rate", learning_rate, rates, rate_doc);
    } else {
      o.required("learning_rate", learning_rate, rates, rate_doc);
    }
    o.optional("schedule", schedule, "how the rate changes from update to update");
    o.optional("weight_decay", weight_decay, {.min = 0, .max = rates.max},
               "how strongly parameters are pulled towards 0; clipping leaves that alone");
    o.optional("no_decay", no_decay, "the names of parameters without weight decay: * is any text, as in *.bias");
    o.used_as("no_decay", OptionUse::parameters);
  }

  double rate(uint64_t step) const { return learning_rate * schedule.factor(step); }
  bool decays(std::string_view parameter) const {
    return weight_decay > 0 && std::none_of(no_decay.begin(), no_decay.end(), [&](const std::string& pattern) {
             return wildcard_matches(pattern, parameter);
           });
  }
};

// An optional key for the share of a running mean that stays with each update, in [0, 1).
inline void declare_kept_share(OptionReader& o, std::string_view name, double& share, std::string_view doc) {
  o.optional(name, share, {.min = 0, .max = 1, .below_max = true}, doc);
}

// An optional key for what is added to a root before something is divided by it. It is never 0, not even as a float:
// a parameter whose gradients have always been 0 must not change.
inline void declare_epsilon(OptionReader& o, double& epsilon) {
  o.optional("epsilon", epsilon, {.min = 1e-30, .max = 1e30}, "added to the root that the gradient is divided by");
}

}  // namespace millrace
