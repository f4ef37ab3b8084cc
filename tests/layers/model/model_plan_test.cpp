#include "millrace/layers/model/model_plan.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/layers/follow_layer.h"
#include "tests/layers/gradient_check.h"
#include "tests/layers/model/training.h"

namespace millrace::testing {
namespace {

// Branches that join, an output with three readers, one that is read twice by one layer, and a way around all.
const std::vector<LayerLine> kGraph = {
    {.kind = "dense", .options = dense_units(6, "relu"), .name = "stem"},
    {.kind = "dense", .options = dense_units(6), .name = "left"},
    {.kind = "relu", .name = "cut"},
    {.kind = "dense", .options = dense_units(6, "relu"), .from = {"stem"}, .name = "right"},
    {.kind = "add", .from = {"cut", "right", "stem", "right"}, .name = "join"},
    {.kind = "dense", .options = dense_units(6, "relu"), .name = "around"},
    {.kind = "add", .from = {"around", "features"}, .name = "end"},
    {.kind = "dense", .options = dense_units(2), .name = "out"},
};

TrainingCase graph_case(DType dtype = DType::f32) {
  return {.layers = kGraph, .row = Shape{6}, .batch = 5, .dtype = dtype, .learning_rate = 0.05};
}

std::vector<double> labels(int step) {
  std::vector<double> out = draws(cat("label ", step), 10);
  for (double& label : out) label = label > 0 ? 1 : 0;
  return out;
}

struct Outcome {
  std::vector<double> losses, weights;
  bool operator==(const Outcome&) const = default;
};

Outcome train(const TrainingCase& from, int steps = 12) {
  Training training(from);
  Outcome out;
  for (int step = 0; step < steps; ++step) {
    out.losses.push_back(training.step(draws(cat("features ", step), from.batch * 6), labels(step)));
  }
  out.weights = training.weights();
  return out;
}

TEST(ModelPlan, ComputesTheGradientsOfAGraph) {
  TrainingCase from = graph_case(DType::f64);
  from.in_place = false;
  from.learning_rate = 1e-30;  // the weights stay
  Training training(from);
  const std::vector<double> x = draws("features", 30), y = labels(0);
  int kinks = 0;
  training.step(x, y);
  const std::vector<double> gradients = training.gradients();
  kinks = compare_with_differences(
      "weights", training.weights(), gradients,
      [&](const std::vector<double>& values) { write_values(training.model().parameter_block(), values); },
      [&] { return training.step(x, y); });
  EXPECT_LE(kinks, 5);
}

TEST(ModelPlan, LearnsTheSameWithAndWithoutSharedMemory) {
  TrainingCase from = graph_case();
  const Outcome shared = train(from);
  from.share_memory = false;
  EXPECT_EQ(train(from), shared);
  from.in_place = false;
  const Outcome apart = train(from);
  from.share_memory = true;
  EXPECT_EQ(train(from), apart);
}

TEST(ModelPlan, LearnsTheSameInPlaceUpToRounding) {
  TrainingCase from = graph_case();
  const Outcome in_place = train(from);
  from.in_place = false;
  const Outcome apart = train(from);
  expect_close(in_place.losses, apart.losses, 1e-5, "losses");
  expect_close(in_place.weights, apart.weights, 1e-5, "weights");
  EXPECT_LT(in_place.losses.back(), in_place.losses.front());
}

TEST(ModelPlan, LearnsTheSameBitsOnAnyNumberOfThreads) {
  TrainingCase from = graph_case();
  from.batch = 70;
  const auto run = [&](int threads, bool in_place) {
    from.threads = threads;
    from.in_place = in_place;
    Training training(from);
    Outcome out;
    for (int step = 0; step < 3; ++step) {
      std::vector<double> y = draws("label", 140);
      for (double& label : y) label = label > 0 ? 1 : 0;
      out.losses.push_back(training.step(draws(cat("features ", step), 420), y));
    }
    out.weights = training.weights();
    return out;
  };
  for (const bool in_place : {true, false}) {
    const Outcome first = run(1, in_place);
    for (const int threads : {1, 2, 3, 8}) EXPECT_EQ(run(threads, in_place), first) << threads;
  }
}

// A plan of mode predict may add up the same terms in another order.
void expect_near(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6 * std::max(1.0, std::abs(expected[i])));
}

TEST(ModelPlan, PredictsWhatItTrained) {
  Training training(graph_case());
  const std::vector<double> x = draws("features", 30);
  for (int step = 0; step < 3; ++step) training.step(x, labels(0));

  Tensor field(Device::cpu(), {Shape{5, 6}, DType::f32}, Tensor::Rows::padded);
  write_values(field.view(), x);
  const TensorView shape = field.view();
  ModelPlan predict(training.model(), training.context(), {.inputs = {&shape, 1}, .mode = Mode::predict});
  const ConstTensorView input = field.view();
  predict.forward(training.context(), {&input, 1}, nullptr);
  const std::vector<double> prediction = read_values(predict.output());
  EXPECT_LT(predict.bytes(), training.plan().bytes());

  TrainingCase still = graph_case();
  still.learning_rate = 1e-30;
  Training other(still);
  write_values(other.model().parameter_block(), training.weights());
  other.step(x, labels(0));
  expect_near(prediction, other.output());
}

TEST(ModelPlan, ComputesGradientsThroughStateAndSavedValues) {
  for (const bool share_memory : {true, false}) {
    Training training({.layers = {{.kind = "follow"},
                                  {.kind = "dense", .options = dense_units(4)},
                                  {.kind = "follow", .options = Spec::map().set("begin", -1.0)},
                                  {.kind = "dense", .options = dense_units(5)},
                                  {.kind = "follow", .options = Spec::map().set("begin", 2.0)},
                                  {.kind = "dense", .options = dense_units(2)}},
                       .row = Shape{6},
                       .batch = 5,
                       .dtype = DType::f64,
                       .learning_rate = 1e-30,
                       .in_place = false,
                       .share_memory = share_memory,
                       .catalog = with_follow()});
    const std::vector<double> x = draws("features", 30), y = labels(0), begin = {0.5, -1, 2};
    const auto step = [&] {
      for (size_t i = 0; i < 3; ++i) {
        write_values(training.model().state(i), filled(training.model().state(i).elements(), begin[i]));
      }
      return training.step(x, y);
    };
    step();
    const std::vector<double> gradients = training.gradients();
    EXPECT_EQ(
        compare_with_differences(
            "weights", training.weights(), gradients,
            [&](const std::vector<double>& values) { write_values(training.model().parameter_block(), values); }, step),
        0);
  }
}

// What follow makes of the columns of `x`, of two values a row; `mean` moves when `training`.
std::vector<double> followed(const std::vector<double>& x, std::vector<double>& mean, bool training) {
  std::vector<double> y = x;
  for (size_t c = 0; c < 2; ++c) {
    double sum = 0, rows = 0;
    for (size_t i = c; i < x.size(); i += 2, ++rows) sum += x[i];
    if (training) mean[c] = (mean[c] + sum / rows) / 2;
    for (size_t i = c; i < x.size(); i += 2) y[i] = mean[c] * (x[i] - mean[c]);
  }
  return y;
}

TEST(ModelPlan, KeepsStateFromBatchToBatchOfAnySize) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  Model model = build_model(
      context,
      {{.kind = "follow", .name = "a"}, {.kind = "follow", .options = Spec::map().set("begin", 3.0), .name = "b"}},
      features(Shape{2}, DType::f64), DType::f64, 1, with_follow());
  std::vector<double> a(2, 0.5), b(2, 3);
  const auto run = [&](int64_t rows, Mode mode) {
    Tensor field(Device::cpu(), {Shape{rows, 2}, DType::f64}, Tensor::Rows::padded);
    const std::vector<double> x = draws(cat("rows ", rows), rows * 2);
    write_values(field.view(), x);
    const TensorView shape = field.view();
    ModelPlan plan(model, context, {.inputs = {&shape, 1}, .mode = mode});
    const ConstTensorView input = field.view();
    const uint64_t step = 0;
    plan.forward(context, {&input, 1}, &step);
    const std::vector<double> expected = followed(followed(x, a, mode == Mode::train), b, mode == Mode::train);
    expect_close(read_values(plan.output()), expected, 1e-14, "output");
    expect_close(read_values(model.state(0)), a, 1e-14, "the state of a");
    expect_close(read_values(model.state(1)), b, 1e-14, "the state of b");
  };
  run(5, Mode::train);
  run(3, Mode::train);
  run(4, Mode::predict);
  run(1, Mode::train);
  run(5, Mode::predict);
}

// Each thread with a plan and a Context of its own, on batches of several sizes.
TEST(ModelPlan, PredictsInSeveralThreadsAtOnce) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  const Model model = build_model(context,
                                  {{.kind = "dense", .options = dense_units(70, "gelu")},
                                   {.kind = "follow"},
                                   {.kind = "dense", .options = dense_units(3)}},
                                  features(Shape{40}), DType::f32, 23, with_follow());
  const auto predict = [&model](int64_t rows, int rounds) {
    Executor own_executor(2);
    Context own(Device::cpu(), own_executor);
    Tensor field(Device::cpu(), {Shape{rows, 40}, DType::f32}, Tensor::Rows::padded);
    const TensorView shape = field.view();
    ModelPlan plan(model, own, {.inputs = {&shape, 1}, .mode = Mode::predict});
    std::vector<std::vector<double>> outputs;
    for (int round = 0; round < rounds; ++round) {
      write_values(field.view(), draws(cat("round ", round), rows * 40));
      const ConstTensorView input = field.view();
      plan.forward(own, {&input, 1}, nullptr);
      outputs.push_back(read_values(plan.output()));
    }
    return outputs;
  };
  constexpr int rounds = 20;
  const std::vector<int64_t> sizes = {5, 130, 5};
  std::vector<std::vector<std::vector<double>>> outputs(sizes.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < sizes.size(); ++i) {
    threads.emplace_back([&, i] { outputs[i] = predict(sizes[i], rounds); });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < sizes.size(); ++i) EXPECT_EQ(outputs[i], predict(sizes[i], rounds)) << i;
}

TEST(ModelPlan, TrainsNoModelThatMayNotChange) {
  Training training(graph_case());
  const Model& model = training.model();
  const TensorView shape(nullptr, DType::f32, Shape{5, 6}, 64);
  try {
    ModelPlan plan(model, training.context(), {.inputs = {&shape, 1}});
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(), "a plan of mode train needs a model that may change");
  }
}

// Plans for several batch sizes may stand side by side: a smaller last batch has its own.
TEST(ModelPlan, ServesSmallerBatchesOfTheSameModel) {
  Training training(graph_case());
  const std::vector<double> x = draws("features", 30);
  training.step(x, labels(0));
  Tensor field(Device::cpu(), {Shape{2, 6}, DType::f32}, Tensor::Rows::padded);
  write_values(field.view(), {x.begin(), x.begin() + 12});
  const TensorView shape = field.view();
  const auto forward_of = [&](Mode mode) {
    ModelPlan plan(training.model(), training.context(), {.inputs = {&shape, 1}, .mode = mode});
    const ConstTensorView input = field.view();
    plan.forward(training.context(), {&input, 1}, nullptr);
    return read_values(plan.output());
  };
  EXPECT_EQ(forward_of(Mode::train).size(), 4U);
  expect_near(forward_of(Mode::train), forward_of(Mode::predict));
}

// The gradient block after a backward pass for each of the batches, with output gradients of one.
std::vector<double> gradients_of(DType dtype, GradientTarget target, const std::vector<std::string>& batches,
                                 const float* alpha) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  Model model = build_model(context, kGraph, features(Shape{6}, dtype), dtype);
  Tensor field(Device::cpu(), {Shape{5, 6}, dtype}, Tensor::Rows::padded);
  Tensor block(Device::cpu(), model.parameter_block().spec());
  const TensorView shape = field.view();
  ModelPlan plan(model, context, {.inputs = {&shape, 1}, .gradient_target = target});
  const ConstTensorView input = field.view();
  for (const std::string& batch : batches) {
    write_values(field.view(), draws(batch, 30));
    plan.forward(context, {&input, 1}, nullptr);
    write_values(plan.output_gradient(), filled(10, 1));
    plan.backward(context, {&input, 1}, nullptr, alpha, block.view());
  }
  return read_values(block.view());
}

TEST(ModelPlan, AddsUpTheGradientsOfSeveralBatches) {
  constexpr float half = 0.5F;
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double tolerance = dtype == DType::f32 ? 1e-6 : 1e-14;
    const auto block = [&](GradientTarget target, const std::vector<std::string>& batches, const float* alpha) {
      return gradients_of(dtype, target, batches, alpha);
    };
    const std::vector<double> a = block(GradientTarget::block_write, {"a"}, nullptr);
    const std::vector<double> b = block(GradientTarget::block_write, {"a", "b"}, nullptr);
    std::vector<double> sum(a.size()), mean(a.size());
    for (size_t i = 0; i < a.size(); ++i) sum[i] = a[i] + b[i], mean[i] = sum[i] / 2;
    EXPECT_NE(a, b);
    expect_close(block(GradientTarget::block_add, {"a", "b"}, nullptr), sum, tolerance, "sum");
    expect_close(block(GradientTarget::block_add, {"a", "b"}, &half), mean, tolerance, "mean");
    std::vector<double> halved = b;
    for (double& value : halved) value /= 2;
    expect_close(block(GradientTarget::block_write, {"a", "b"}, &half), halved, tolerance, "half of the last");
  }
}

TEST(ModelPlan, LeavesThePaddingOfTheGradientBlockAlone) {
  TrainingCase from = graph_case();
  from.in_place = false;
  Training training(from);
  training.step(draws("features", 30), labels(0));
  const std::vector<double> gradients = training.gradients();
  const std::vector<Parameter>& parameters = training.model().parameters();
  for (size_t i = 0; i + 1 < parameters.size(); ++i) {
    const size_t end = parameters[i].offset / 4 + static_cast<size_t>(parameters[i].shape.elements());
    for (size_t k = end; k < parameters[i + 1].offset / 4; ++k) EXPECT_EQ(gradients[k], 0) << k;
  }
}

template <class F>
std::string error_of(F call) {
  try {
    call();
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ModelPlan, RejectsWhatItWasNotPlannedFor) {
  TrainingCase from = graph_case();
  from.in_place = false;
  Training training(from);
  Context& context = training.context();
  Tensor dense_rows(Device::cpu(), {Shape{5, 6}, DType::f32}),
      rows(Device::cpu(), {Shape{5, 6}, DType::f32}, Tensor::Rows::padded);
  ConstTensorView field = dense_rows.view();
  EXPECT_EQ(
      error_of([&] {
        training.plan().forward(context, {&field, 1}, nullptr);
      }),
      "the field features: expected float32 (5, 6) in rows of 64 bytes as planned, got float32 (5, 6) in rows of 24 "
      "bytes");
  EXPECT_EQ(error_of([&] { training.plan().forward(context, {}, nullptr); }), "expected 1 field, got 0");
  field = rows.view().first_rows(4);
  EXPECT_EQ(
      error_of([&] {
        training.plan().forward(context, {&field, 1}, nullptr);
      }),
      "the field features: expected float32 (5, 6) in rows of 64 bytes as planned, got float32 (4, 6) in rows of 64 "
      "bytes");
  field = ConstTensorView(nullptr, DType::f32, Shape{5, 6}, 64);
  EXPECT_EQ(error_of([&] {
              training.plan().forward(context, {&field, 1}, nullptr);
            }),
            "the field features: expected values, got a null view");
  field = rows.view();
  EXPECT_EQ(error_of([&] { training.plan().forward(context, {&field, 1}, nullptr); }), "no error");
  EXPECT_EQ(error_of([&] {
              training.plan().backward(context, {&field, 1}, nullptr, nullptr, {});
            }),
            "the gradient block: expected float32 (288) as the model's parameters, got float32 ()");
  const TensorView shape = rows.view();
  ModelPlan in_place(training.model(), context, {.inputs = {&shape, 1}, .gradient_target = GradientTarget::parameters});
  in_place.forward(context, {&field, 1}, nullptr);
  EXPECT_THROW(in_place.backward(context, {&field, 1}, nullptr, nullptr, {}), InternalError);
  ModelPlan predict(training.model(), context, {.inputs = {&shape, 1}, .mode = Mode::predict});
  EXPECT_EQ(error_of([&] {
              predict.backward(context, {&field, 1}, nullptr, nullptr, {});
            }),
            "backward: expected a plan of mode train, got one of mode predict");
}

// A layer that fails while it runs, in the pass that it is told.
class Failing final : public Layer {
 public:
  struct Options {
    bool forward = false;
    void declare(OptionReader& o) { o.optional("forward", forward, "fails there, else in backward"); }
  };
  static constexpr std::string_view kDoc = "fails";
  explicit Failing(const Options& options) : forward_(options.forward) {}
  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder&) override { return inputs[0]; }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs&) const override { return std::make_unique<Plan>(forward_); }

 private:
  struct Plan final : LayerPlan {
    explicit Plan(bool in_forward) : fails_in_forward(in_forward) {}
    void forward(Context&, const ForwardArgs&) override {
      if (fails_in_forward) throw DeviceError("the device is gone");
    }
    void backward(Context&, const BackwardArgs&) override { throw DataError("an id is out of range"); }
    bool fails_in_forward;
  };
  bool forward_;
};

TEST(ModelPlan, NamesTheLayerThatFails) {
  LayerCatalog catalog = LayerCatalog::builtin();
  catalog.layers.add<Failing>("failing");
  const auto train = [&](bool forward) {
    Training training({.layers = {{.kind = "dense", .options = dense_units(2)},
                                  {.kind = "failing", .options = Spec::map().set("forward", forward), .name = "odd"}},
                       .row = Shape{3},
                       .batch = 1,
                       .catalog = catalog});
    training.step({1, 2, 3}, {0, 1});
  };
  try {
    train(true);
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.message(), "layer odd: the device is gone");
  }
  try {
    train(false);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_EQ(error.message(), "layer odd: an id is out of range");
  }
}

}  // namespace
}  // namespace millrace::testing
