#include "millrace/layers/optimizers/shared/adam_optimizer.h"

#include <cmath>

#include "millrace/core/math.h"
#include "millrace/core/parallel.h"
#include "millrace/core/tensor.h"

namespace millrace {
namespace {

enum Number { kRate, kInverseRoot, kKept, kNumbers };

template <class T>
struct AdamUpdate {
  T* parameter;
  T* mean;
  T* square;
  DecayedGradient<T> gradient;
  ExactNumber<T> rate, inverse_root, kept;
  T beta1, gain1, beta2, gain2, epsilon;
  bool shrinks;
  MILLRACE_HD void operator()(int64_t i) const {
    const T slope = gradient[i];
    const T m = beta1 * mean[i] + gain1 * slope;
    const T v = beta2 * square[i] + gain2 * slope * slope;
    mean[i] = m;
    square[i] = v;
    // std::sqrt() is correctly rounded on every device.
    const T below = std::sqrt(v) * inverse_root.value() + epsilon;
    parameter[i] = (shrinks ? kept.value() : T(1)) * parameter[i] - rate.value() * m / below;
  }
};

}  // namespace

void AdamOptions::declare(OptionReader& o) {
  UpdateOptions::declare(o);
  declare_kept_share(o, "beta1", beta1, "the share of the gradients' running mean that stays");
  declare_kept_share(o, "beta2", beta2, "the share of their squares' running mean that stays");
  declare_epsilon(o, epsilon);
}

int AdamOptimizer::scalar_count() const { return scalars_of(kNumbers); }

void AdamOptimizer::scalars(uint64_t step, std::span<float> out) const {
  const double rate = options_.rate(step);
  // The running means began at 0, so they are too small by these factors.
  const double correction1 = 1 - math::power(options_.beta1, step + 1);
  const double correction2 = 1 - math::power(options_.beta2, step + 1);
  write_exact(rate / correction1, out, kRate);
  write_exact(1 / std::sqrt(correction2), out, kInverseRoot);
  write_exact(1 - rate * options_.weight_decay, out, kKept);
}

void AdamOptimizer::update(Context& context, const UpdateArgs& args) const {
  const bool decoupled = decay_ == WeightDecay::decoupled;
  dispatch_float(args.parameters.dtype(), [&]<class T>() {
    const DecayedGradient<T> gradient(args, decoupled ? 0 : options_.weight_decay);
    for_each_index(
        context, args.parameters.elements(),
        AdamUpdate<T>{args.parameters.as<T>(), args.slots[0].as<T>(), args.slots[1].as<T>(), gradient,
                      ExactNumber<T>(args.scalars, kRate), ExactNumber<T>(args.scalars, kInverseRoot),
                      ExactNumber<T>(args.scalars, kKept), static_cast<T>(options_.beta1),
                      static_cast<T>(1 - options_.beta1), static_cast<T>(options_.beta2),
                      static_cast<T>(1 - options_.beta2), static_cast<T>(options_.epsilon), decoupled && args.decay});
  });
}

}  // namespace millrace
