#include "millrace/core/parallel.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/dispatch.h"
#include "millrace/layers/optimizers/scaled_gradient.h"

namespace millrace {
namespace {

template <class T>
struct AddScaled {
  T* parameter;
  ScaledGradient<T> gradient;
  const float* scale;
  MILLRACE_HD void operator()(int64_t i) const { parameter[i] += static_cast<T>(*scale) * gradient[i]; }
};

class Sgd final : public Optimizer {
 public:
  struct Options {
    double learning_rate = 0;
    void declare(OptionReader& o) {
      o.required("learning_rate", learning_rate, {.min = 0, .max = 1e30, .above_min = true},
                 "how far a step goes against the gradient");
    }
  };
  static constexpr std::string_view kDoc = "plain gradient descent: parameter -= learning_rate * gradient";

  explicit Sgd(const Options& options) : learning_rate_(options.learning_rate) {}

  void scalars(uint64_t, std::span<float> out) const override { out[0] = static_cast<float>(-learning_rate_); }
  bool adds_scaled_gradient() const override { return true; }

  void update(Context& context, const UpdateArgs& args) const override {
    dispatch_float(args.parameters.dtype(), [&]<class T>() {
      for_each_index(context, args.parameters.elements(),
                     AddScaled<T>{args.parameters.as<T>(), ScaledGradient<T>(args), args.scalars});
    });
  }

 private:
  double learning_rate_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OPTIMIZER(sgd, Sgd);
