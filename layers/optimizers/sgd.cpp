// sgd: steps against the gradient, with or without momentum. Without momentum and weight decay, backward may do the
// update itself.
#include "millrace/core/parallel.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/optimizer.h"

namespace millrace {
namespace {

template <class T>
struct AddScaled {
  T* parameter;
  ScaledGradient<T> gradient;
  const float* scale;
  MILLRACE_HD void operator()(int64_t i) const { parameter[i] += static_cast<T>(*scale) * gradient[i]; }
};

template <class T>
struct AddDecayed {
  T* parameter;
  DecayedGradient<T> gradient;
  ExactNumber<T> scale;
  MILLRACE_HD void operator()(int64_t i) const { parameter[i] += scale.value() * gradient[i]; }
};

template <class T>
struct AddVelocity {
  T* parameter;
  T* velocity;
  DecayedGradient<T> gradient;
  ExactNumber<T> scale;
  T momentum;
  bool nesterov;
  MILLRACE_HD void operator()(int64_t i) const {
    const T slope = gradient[i];
    const T moved = momentum * velocity[i] + slope;
    velocity[i] = moved;
    parameter[i] += scale.value() * (nesterov ? slope + momentum * moved : moved);
  }
};

class Sgd final : public Optimizer {
 public:
  struct Options : UpdateOptions {
    double momentum = 0;
    bool nesterov = false;
    void declare(OptionReader& o) {
      UpdateOptions::declare(o);
      declare_kept_share(o, "momentum", momentum,
                         "sum = momentum * sum + gradient, then parameter -= rate * sum: a new rate of the schedule "
                         "applies to what is kept, too");
      o.optional("nesterov", nesterov, "step by the gradient plus the momentum that already includes it");
      if (o.reading() && nesterov && momentum == 0) {
        throw o.node("nesterov").error("nesterov needs a momentum", "set momentum, for example to 0.9");
      }
    }
  };
  static constexpr std::string_view kDoc =
      "gradient descent: parameter -= learning_rate * gradient, with momentum if that is set";

  explicit Sgd(const Options& options) : options_(options) {}

  int state_slots() const override { return options_.momentum > 0 ? 1 : 0; }
  int scalar_count() const override { return is_plain() ? 1 : scalars_of(1); }
  void scalars(uint64_t step, std::span<float> out) const override {
    const double scale = -options_.rate(step);
    if (is_plain()) {
      out[0] = static_cast<float>(scale);
    } else {
      write_exact(scale, out, 0);
    }
  }
  bool decays(std::string_view parameter) const override { return options_.decays(parameter); }
  bool adds_scaled_gradient() const override { return is_plain(); }

  void update(Context& context, const UpdateArgs& args) const override {
    dispatch_float(args.parameters.dtype(), [&]<class T>() {
      const int64_t count = args.parameters.elements();
      T* const parameter = args.parameters.as<T>();
      if (is_plain()) {
        for_each_index(context, count, AddScaled<T>{parameter, ScaledGradient<T>(args), args.scalars});
        return;
      }
      const DecayedGradient<T> gradient(args, options_.weight_decay);
      const ExactNumber<T> scale(args.scalars, 0);
      if (options_.momentum == 0) {
        for_each_index(context, count, AddDecayed<T>{parameter, gradient, scale});
        return;
      }
      for_each_index(context, count,
                     AddVelocity<T>{parameter, args.slots[0].as<T>(), gradient, scale,
                                    static_cast<T>(options_.momentum), options_.nesterov});
    });
  }

 private:
  bool is_plain() const { return options_.momentum == 0 && options_.weight_decay == 0; }

  Options options_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OPTIMIZER(sgd, Sgd);
