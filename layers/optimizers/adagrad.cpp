// adagrad: steps that shrink with the sum of all squares of a gradient.
#include <cmath>

#include "millrace/core/parallel.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/optimizer.h"

namespace millrace {
namespace {

template <class T>
struct AdagradUpdate {
  T* parameter;
  T* squares;
  DecayedGradient<T> gradient;
  ExactNumber<T> rate;
  T epsilon;
  MILLRACE_HD void operator()(int64_t i) const {
    const T slope = gradient[i];
    const T sum = squares[i] + slope * slope;
    squares[i] = sum;
    // std::sqrt() is correctly rounded on every device.
    parameter[i] -= rate.value() * slope / (std::sqrt(sum) + epsilon);
  }
};

class Adagrad final : public Optimizer {
 public:
  struct Options : UpdateOptions {
    double epsilon = 1e-10;

    Options() { learning_rate = 0.01; }
    void declare(OptionReader& o) {
      UpdateOptions::declare(o);
      declare_epsilon(o, epsilon);
    }
  };
  static constexpr std::string_view kDoc = "gradients divided by the root of the sum of all their squares";

  explicit Adagrad(const Options& options) : options_(options) {}

  int state_slots() const override { return 1; }
  int scalar_count() const override { return scalars_of(1); }
  void scalars(uint64_t step, std::span<float> out) const override { write_exact(options_.rate(step), out, 0); }
  bool decays(std::string_view parameter) const override { return options_.decays(parameter); }

  void update(Context& context, const UpdateArgs& args) const override {
    dispatch_float(args.parameters.dtype(), [&]<class T>() {
      for_each_index(context, args.parameters.elements(),
                     AdagradUpdate<T>{args.parameters.as<T>(), args.slots[0].as<T>(),
                                      DecayedGradient<T>(args, options_.weight_decay), ExactNumber<T>(args.scalars, 0),
                                      static_cast<T>(options_.epsilon)});
    });
  }

 private:
  Options options_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OPTIMIZER(adagrad, Adagrad);
