// A layer from outside the library: elu is written here as a user would write it.
#include "millrace/layers/simple_layer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "millrace/core/math.h"
#include "tests/layers/gradient_check.h"

namespace millrace {
namespace {

struct Elu {
  double alpha;
  template <class T>
  MILLRACE_HD T operator()(T x) const {
    return x > T(0) ? x : static_cast<T>(alpha) * (math::exp(x) - T(1));
  }
};

struct EluGradient {
  double alpha;
  template <class T>
  MILLRACE_HD T operator()(T y, T dy) const {
    return y > T(0) ? dy : dy * (y + static_cast<T>(alpha));
  }
};

class EluLayer final : public SimpleLayer {
 public:
  struct Options {
    double alpha = 1;
    void declare(OptionReader& o) {
      o.optional("alpha", alpha, {.min = 0}, "what large negative values tend to, negated");
    }
  };
  static constexpr std::string_view kDoc = "x where it is positive, else alpha * (exp(x) - 1)";

  explicit EluLayer(const Options& options) : alpha_(options.alpha) {}

  void forward(Context& context, const SimpleForward& args) const override {
    map_elements(context, args.x, args.y, Elu{alpha_});
  }
  void backward(Context& context, const SimpleBackward& args) const override {
    zip_elements(context, args.y, args.dy, args.dx, EluGradient{alpha_});
  }
  bool backward_reads_input() const override { return false; }

 private:
  double alpha_;
};

// Needs what only layers that draw need: the mode, the seed, its own stream and the step.
struct Noise {
  const double* x;
  double* y;
  int64_t x_stride, y_stride, columns;
  SimpleState state;
  MILLRACE_HD void operator()(int64_t row, int64_t column) const {
    const auto index = static_cast<uint64_t>(row * columns + column) + *state.step * 1000;
    y[row * y_stride + column] = x[row * x_stride + column] + to_unit(philox64(state.seed, state.stream, index));
  }
};

class NoiseLayer final : public SimpleLayer {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "adds noise while training";

  explicit NoiseLayer(const Options&) {}

  void forward(Context& context, const SimpleForward& args) const override {
    if (args.state.mode == Mode::predict) {
      map_elements(context, args.x, args.y, Elu{0});
      return;
    }
    for_each_row_column(context, args.x.rows(), args.x.columns(),
                        Noise{args.x.as<double>(), args.y.as<double>(), args.x.stride(), args.y.stride(),
                              args.x.columns(), args.state});
  }
  void backward(Context& context, const SimpleBackward& args) const override {
    zip_elements(context, args.x, args.dy, args.dx, EluGradient{1});
  }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(elu, EluLayer);

namespace millrace::testing {
namespace {

LayerCatalog with_own_layers() {
  LayerCatalog catalog = LayerCatalog::builtin();
  register_layer_elu(catalog.layers);
  catalog.layers.add<NoiseLayer>("noise");
  return catalog;
}

TEST(SimpleLayer, ComputesWhatItsFunctorSays) {
  LayerRun run({.kind = "elu", .options = Spec::map().set("alpha", 0.5), .inputs = {Shape{3}}, .batch = 2},
               with_own_layers());
  run.set_input(0, {-1, 0, 2, -3, 1, 0.25});
  run.forward();
  const std::vector<double> expected = {0.5 * std::expm1(-1), 0, 2, 0.5 * std::expm1(-3), 1, 0.25};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(run.output()[i], expected[i], 1e-15) << i;
}

TEST(SimpleLayer, AgreesWithDifferences) {
  check_layer({.kind = "elu", .inputs = {Shape{17}}, .batch = 4}, with_own_layers());
  check_layer({.kind = "elu", .inputs = {Shape{3, 5}}, .batch = 2}, with_own_layers());
}

TEST(SimpleLayer, LeavesAnUnneededGradientAlone) {
  LayerRun run({.kind = "elu", .inputs = {Shape{2}}, .batch = 1, .input_use = GradientUse::none}, with_own_layers());
  prepare(run);
  run.forward();
  run.backward();
  EXPECT_TRUE(std::isnan(run.input_gradient(0)[0]));
}

TEST(SimpleLayer, KeepsTheShapeOfARow) {
  LayerRun run({.kind = "elu", .inputs = {Shape{2, 3}}, .batch = 4, .dtype = DType::f32}, with_own_layers());
  EXPECT_EQ(run.output_spec(), (TensorSpec{Shape{4, 2, 3}, DType::f32}));
}

TEST(SimpleLayer, GivesModeSeedStreamAndStep) {
  LayerRun run({.kind = "noise", .inputs = {Shape{2}}, .batch = 1}, with_own_layers());
  run.set_input(0, {0, 10});
  run.set_step(3);
  run.forward();
  EXPECT_EQ(run.output(), (std::vector<double>{to_unit(philox64(5, fnv1a64("layer"), 3000)),
                                               10 + to_unit(philox64(5, fnv1a64("layer"), 3001))}));
  LayerRun predict({.kind = "noise", .inputs = {Shape{2}}, .batch = 1, .mode = Mode::predict}, with_own_layers());
  predict.set_input(0, {1, 10});
  predict.forward();
  EXPECT_EQ(predict.output(), (std::vector<double>{1, 10}));
}

TEST(SimpleLayer, GivesTheSameBitsOnAnyNumberOfThreads) {
  std::vector<double> first;
  for (const int threads : {1, 2, 3, 8}) {
    LayerRun run({.kind = "elu", .inputs = {Shape{701}}, .batch = 97, .dtype = DType::f32}, with_own_layers(), threads);
    prepare(run);
    run.forward();
    run.backward();
    std::vector<double> all = run.output();
    const std::vector<double> gradient = run.input_gradient(0);
    all.insert(all.end(), gradient.begin(), gradient.end());
    if (first.empty()) first = all;
    EXPECT_EQ(all, first) << threads;
  }
}

}  // namespace
}  // namespace millrace::testing
