// A layer from outside the library: elu, as own_elu, is written here as a user would write it.
#include "millrace/layers/simple_layer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "millrace/core/math.h"
#include "millrace/core/random.h"
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

// A layer that draws: while training, each value is scaled by a number in (0, 2).
struct Scale {
  Draws draws;
  template <class T>
  MILLRACE_HD T operator()(T x, int64_t i) const {
    return x * static_cast<T>(2 * draws.unit(i));
  }
};

struct ScaleGradient {
  Draws draws;
  template <class T>
  MILLRACE_HD T operator()(T, T dy, int64_t i) const {
    return dy * static_cast<T>(2 * draws.unit(i));
  }
};

struct Same {
  template <class T>
  MILLRACE_HD T operator()(T x) const {
    return x;
  }
};

class NoiseLayer final : public SimpleLayer {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "scales by noise while training";

  explicit NoiseLayer(const Options&) {}

  void forward(Context& context, const SimpleForward& args) const override {
    if (args.mode == Mode::predict) {
      map_elements(context, args.x, args.y, Same{});
    } else {
      map_indexed(context, args.x, args.y, Scale{args.draws});
    }
  }
  void backward(Context& context, const SimpleBackward& args) const override {
    zip_indexed(context, args.x, args.dy, args.dx, ScaleGradient{args.draws});
  }
  bool backward_reads_output() const override { return false; }
  bool draws() const override { return true; }
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(own_elu, EluLayer);

namespace millrace::testing {
namespace {

LayerCatalog with_own_layers() {
  LayerCatalog catalog = LayerCatalog::builtin();
  register_layer_own_elu(catalog.layers);
  catalog.layers.add<NoiseLayer>("noise");
  return catalog;
}

TEST(SimpleLayer, ComputesWhatItsFunctorSays) {
  LayerRun run({.kind = "own_elu", .options = Spec::map().set("alpha", 0.5), .inputs = {Shape{3}}, .batch = 2},
               with_own_layers());
  run.set_input(0, {-1, 0, 2, -3, 1, 0.25});
  run.forward();
  const std::vector<double> expected = {0.5 * std::expm1(-1), 0, 2, 0.5 * std::expm1(-3), 1, 0.25};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(run.output()[i], expected[i], 1e-15) << i;
}

TEST(SimpleLayer, AgreesWithDifferences) {
  check_layer({.kind = "own_elu", .inputs = {Shape{17}}, .batch = 4}, with_own_layers());
  check_layer({.kind = "own_elu", .inputs = {Shape{3, 5}}, .batch = 2}, with_own_layers());
}

TEST(SimpleLayer, LeavesAnUnneededGradientAlone) {
  LayerRun run({.kind = "own_elu", .inputs = {Shape{2}}, .batch = 1, .input_use = GradientUse::none},
               with_own_layers());
  prepare(run);
  run.forward();
  run.backward();
  EXPECT_TRUE(std::isnan(run.input_gradient(0)[0]));
}

TEST(SimpleLayer, KeepsTheShapeOfARow) {
  LayerRun run({.kind = "own_elu", .inputs = {Shape{2, 3}}, .batch = 4, .dtype = DType::f32}, with_own_layers());
  EXPECT_EQ(run.output_spec(), (TensorSpec{Shape{4, 2, 3}, DType::f32}));
}

// The factor that value `index` of a step gets.
double factor(uint64_t step, uint64_t index) {
  return 2 * to_unit(philox64(5, fnv1a64("layer"), (step << 32) + index));
}

TEST(SimpleLayer, DrawsBySeedNameStepAndIndex) {
  LayerRun run({.kind = "noise", .inputs = {Shape{2}}, .batch = 2}, with_own_layers());
  run.set_input(0, {1, 10, 100, 1000});
  run.set_output_gradient({1, 1, 1, 1});
  run.set_step(3);
  run.forward();
  run.backward();
  EXPECT_EQ(run.output(),
            (std::vector<double>{factor(3, 0), 10 * factor(3, 1), 100 * factor(3, 2), 1000 * factor(3, 3)}));
  EXPECT_EQ(run.input_gradient(0), (std::vector<double>{factor(3, 0), factor(3, 1), factor(3, 2), factor(3, 3)}));
}

TEST(SimpleLayer, DrawsAnewInEveryStepWhateverTheSizeOfItsBatch) {
  std::set<double> drawn;
  for (const auto& [step, batch] : {std::pair{1, 8}, {2, 4}, {4, 2}, {8, 1}}) {
    LayerRun run({.kind = "noise", .inputs = {Shape{3}}, .batch = batch}, with_own_layers());
    run.set_input(0, filled(batch * 3, 1));
    run.set_step(static_cast<uint64_t>(step));
    run.forward();
    for (const double value : run.output()) EXPECT_TRUE(drawn.insert(value).second) << step;
  }
}

TEST(SimpleLayer, AgreesWithDifferencesWhileItDraws) {
  check_layer({.kind = "noise", .inputs = {Shape{17}}, .batch = 4}, with_own_layers());
}

TEST(SimpleLayer, MayDifferByMode) {
  LayerRun predict({.kind = "noise", .inputs = {Shape{2}}, .batch = 1, .mode = Mode::predict}, with_own_layers());
  predict.set_input(0, {1, 10});
  predict.forward();
  EXPECT_EQ(predict.output(), (std::vector<double>{1, 10}));
}

std::string error_of_plan(const char* kind, const Shape& batch, Mode mode = Mode::train) {
  const std::unique_ptr<Layer> layer = with_own_layers().layers.make({kind, Spec::map()}, Spec::map());
  Executor executor(1);
  Context context(Device::cpu(), executor);
  const TensorView value(nullptr, DType::f32, batch);
  PlanArgs args;
  args.inputs = {&value, 1};
  args.output = value;
  args.mode = mode;
  try {
    layer->plan(context, args);
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "no error";
}

TEST(SimpleLayer, DrawsForFewerValuesThanItsDrawsAreNumbered) {
  EXPECT_EQ(error_of_plan("noise", {1 << 20, 1 << 12}),
            "expected at most 4294967295 values a batch to draw for, got 4294967296; use smaller batches");
  EXPECT_EQ(error_of_plan("noise", {1, (int64_t{1} << 32) - 1}), "no error");
  EXPECT_EQ(error_of_plan("noise", {1 << 20, 1 << 12}, Mode::predict), "no error");
  EXPECT_EQ(error_of_plan("own_elu", {1 << 20, 1 << 12}), "no error");
}

TEST(SimpleLayer, GivesTheSameBitsOnAnyNumberOfThreads) {
  check_threads({.kind = "own_elu", .inputs = {Shape{701}}, .batch = 97}, with_own_layers());
}

}  // namespace
}  // namespace millrace::testing
