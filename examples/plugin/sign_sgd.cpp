// A plug-in with an optimizer: sign_sgd, whose steps are of one length, against the sign of the gradient.
#include <millrace/plugin.h>

using namespace millrace;

namespace {

// velocity = momentum * velocity + gradient; parameter -= learning_rate * sign(velocity), of value i.
template <class T>
struct SignStep {
  T* parameter;
  T* velocity;
  ScaledGradient<T> gradient;
  T momentum;
  const float* learning_rate;  // in the device's memory
  MILLRACE_HD void operator()(int64_t i) const {
    const T moved = momentum * velocity[i] + gradient[i];
    const T rate = static_cast<T>(*learning_rate);
    velocity[i] = moved;
    parameter[i] -= moved > T(0) ? rate : moved < T(0) ? -rate : T(0);
  }
};

class SignSgd final : public Optimizer {
 public:
  struct Options {
    double learning_rate = 0, momentum = 0;
    void declare(OptionReader& o) {
      o.required("learning_rate", learning_rate, {.min = 0}, "how far each step moves each parameter");
      o.optional("momentum", momentum, {.min = 0, .max = 1, .below_max = true}, "share of the last velocity to keep");
    }
  };
  static constexpr std::string_view kDoc =
      "parameter -= learning_rate * sign(gradient), with momentum where that is set";

  explicit SignSgd(const Options& options) : options_(options) {}

  int state_slots() const override { return 1; }
  // Before each update: what may change from one to the next, as a schedule would.
  void scalars(uint64_t, std::span<float> out) const override { out[0] = static_cast<float>(options_.learning_rate); }

  void update(Context& context, const UpdateArgs& args) const override {
    dispatch_float(args.parameters.dtype(), [&]<class T>() {
      for_each_index(context, args.parameters.elements(),
                     SignStep<T>{args.parameters.as<T>(), args.slots[0].as<T>(), ScaledGradient<T>(args),
                                 static_cast<T>(options_.momentum), args.scalars});
    });
  }

 private:
  Options options_;
};

}  // namespace

MILLRACE_PLUGIN(catalog) { catalog.add_optimizer<SignSgd>("sign_sgd"); }
