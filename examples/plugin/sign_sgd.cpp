// A plug-in with an optimizer: sign_sgd, whose steps are of one length, against the sign of the gradient.
#include <millrace/plugin.h>

using namespace millrace;

namespace {

// velocity = momentum * velocity + gradient; parameter -= learning_rate * sign(velocity), for value i.
template <class T>
struct SignStep {
  T* parameter;
  T* velocity;
  DecayedGradient<T> gradient;
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
  // UpdateOptions declares the rate, its schedule, and weight decay.
  struct Options : UpdateOptions {
    double momentum = 0;
    void declare(OptionReader& o) {
      UpdateOptions::declare(o);
      declare_kept_share(o, "momentum", momentum, "share of the last velocity to keep");
    }
  };
  static constexpr std::string_view kDoc =
      "gradient descent by signs: parameter -= learning_rate * sign(gradient), with momentum if that is set";

  explicit SignSgd(const Options& options) : options_(options) {}

  int state_slots() const override { return 1; }
  // Called before each update: writes the numbers that change from update to update.
  void scalars(uint64_t step, std::span<float> out) const override { out[0] = static_cast<float>(options_.rate(step)); }
  bool decays(std::string_view parameter) const override { return options_.decays(parameter); }

  void update(Context& context, const UpdateArgs& args) const override {
    dispatch_float(args.parameters.dtype(), [&]<class T>() {
      for_each_index(
          context, args.parameters.elements(),
          SignStep<T>{args.parameters.as<T>(), args.slots[0].as<T>(), DecayedGradient<T>(args, options_.weight_decay),
                      static_cast<T>(options_.momentum), args.scalars});
    });
  }

 private:
  Options options_;
};

}  // namespace

MILLRACE_PLUGIN(catalog) { catalog.add_optimizer<SignSgd>("sign_sgd"); }
