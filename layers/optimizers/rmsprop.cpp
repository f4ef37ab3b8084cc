// rmsprop: steps that shrink with the running mean of a gradient's squares.
#include <cmath>

#include "millrace/core/parallel.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/optimizer.h"

namespace millrace {
namespace {

template <class T>
struct RmsUpdate {
  T* parameter;
  T* square;
  T* velocity;  // null without momentum
  DecayedGradient<T> gradient;
  ExactNumber<T> rate;
  T rho, gain, epsilon, momentum;
  MILLRACE_HD void operator()(int64_t i) const {
    const T slope = gradient[i];
    const T v = rho * square[i] + gain * slope * slope;
    square[i] = v;
    // std::sqrt() is correctly rounded on every device.
    T change = slope / (std::sqrt(v) + epsilon);
    if (velocity != nullptr) {
      change += momentum * velocity[i];
      velocity[i] = change;
    }
    parameter[i] -= rate.value() * change;
  }
};

class RmsProp final : public Optimizer {
 public:
  struct Options : UpdateOptions {
    double rho = 0.99, epsilon = 1e-8, momentum = 0;

    Options() { learning_rate = 0.01; }
    void declare(OptionReader& o) {
      UpdateOptions::declare(o);
      declare_kept_share(o, "rho", rho, "the share of the squares' running mean that stays");
      declare_epsilon(o, epsilon);
      declare_kept_share(o, "momentum", momentum,
                         "sum = momentum * sum + gradient / root, then parameter -= rate * sum: a new rate of the "
                         "schedule applies to what is kept, too");
    }
  };
  static constexpr std::string_view kDoc = "gradients divided by the root of their squares' running mean";

  explicit RmsProp(const Options& options) : options_(options) {}

  int state_slots() const override { return options_.momentum > 0 ? 2 : 1; }
  int scalar_count() const override { return scalars_of(1); }
  void scalars(uint64_t step, std::span<float> out) const override { write_exact(options_.rate(step), out, 0); }
  bool decays(std::string_view parameter) const override { return options_.decays(parameter); }

  void update(Context& context, const UpdateArgs& args) const override {
    dispatch_float(args.parameters.dtype(), [&]<class T>() {
      for_each_index(context, args.parameters.elements(),
                     RmsUpdate<T>{args.parameters.as<T>(), args.slots[0].as<T>(),
                                  options_.momentum > 0 ? args.slots[1].as<T>() : nullptr,
                                  DecayedGradient<T>(args, options_.weight_decay), ExactNumber<T>(args.scalars, 0),
                                  static_cast<T>(options_.rho), static_cast<T>(1 - options_.rho),
                                  static_cast<T>(options_.epsilon), static_cast<T>(options_.momentum)});
    });
  }

 private:
  Options options_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OPTIMIZER(rmsprop, RmsProp);
