// Whole trainings on the device against the same ones on the CPU: every layer, the loss, the metric and the optimizer.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/cuda/device_tensor.h"
#include "tests/layers/model/training.h"
#include "tests/support/cuda.h"
#include "tests/support/sanitized.h"

namespace millrace {
namespace {

using millrace::testing::dense_units;
using millrace::testing::DeviceTensor;
using millrace::testing::LayerLine;
using millrace::testing::Training;
using millrace::testing::TrainingCase;

struct Result {
  std::vector<double> losses, weights;
  double accuracy = 0;
};

std::vector<double> rows_of(const TrainingCase& from, int step) {
  return millrace::testing::draws("rows" + std::to_string(step), from.batch * from.row.elements());
}

std::vector<double> labels_of(const TrainingCase& from, const std::vector<double>& rows) {
  std::vector<double> labels;
  for (int64_t row = 0; row < from.batch; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < from.row.elements(); ++i) sum += rows[static_cast<size_t>(row * from.row.elements() + i)];
    labels.push_back(sum > 0 ? 1 : 0);
  }
  return labels;
}

// Parameters, then state.
std::vector<double> values_of(Context& context, const Model& model) {
  std::vector<double> out;
  const auto add = [&](const ConstTensorView& view) {
    Tensor host(Device::cpu(), view.spec());
    context.copy(host.view().data(), view.data(), host.spec().bytes());
    context.synchronize();
    for (const double value : millrace::testing::read_values(host.view())) out.push_back(value);
  };
  add(model.parameter_block());
  for (size_t i = 0; i < model.states().size(); ++i) add(model.state(i));
  return out;
}

Result train_on_cpu(const TrainingCase& from, int steps) {
  Training training(from);
  Result result;
  for (int step = 0; step < steps; ++step) {
    const auto rows = rows_of(from, step);
    result.losses.push_back(training.step(rows, labels_of(from, rows)));
  }
  result.weights = values_of(training.context(), training.model());
  return result;
}

void expect_near(const Result& device, const Result& cpu, double tolerance) {
  ASSERT_EQ(device.losses.size(), cpu.losses.size());
  for (size_t i = 0; i < cpu.losses.size(); ++i) {
    EXPECT_NEAR(device.losses[i], cpu.losses[i], tolerance * std::max(1.0, std::abs(cpu.losses[i]))) << "step " << i;
  }
  ASSERT_EQ(device.weights.size(), cpu.weights.size());
  for (size_t i = 0; i < cpu.weights.size(); ++i) {
    ASSERT_NEAR(device.weights[i], cpu.weights[i], tolerance) << "weight " << i;
  }
}

class CudaTraining : public test::CudaTest {
 protected:
  Result train(const TrainingCase& from, int steps, bool weighted = false) {
    Model model = millrace::testing::build_model(
        context(), from.layers, millrace::testing::features(from.row, from.dtype), from.dtype, from.seed);
    DeviceTensor features(context(), {from.row.with_batch(from.batch), from.dtype});
    const TensorView shapes[] = {features.view()};
    ModelPlan plan(model, context(), {.inputs = shapes, .gradient_target = millrace::testing::target_of(from)});
    DeviceTensor label(context(), {plan.output().shape(), DType::f32}), value(context(), {Shape{1, 2}, from.dtype});
    DeviceTensor weight(context(), {Shape{from.batch, 1}, DType::f32});
    weight.write(std::vector<double>(static_cast<size_t>(from.batch), 2));

    const LayerCatalog catalog = LayerCatalog::builtin();
    const Spec options = Spec::map().set("learning_rate", from.learning_rate);
    const auto optimizer = catalog.optimizers.make({"sgd", options}, options);
    const auto loss = catalog.losses.make({"sigmoid_cross_entropy", Spec::map()}, Spec::map())
                          ->plan(context(), {.prediction = plan.output(), .label = label.view(), .weighted = weighted});
    const auto metric = catalog.metrics.make({"accuracy", Spec::map()}, Spec::map());
    const auto metric_plan =
        metric->plan(context(), {.prediction = plan.output(), .label = label.view(), .weighted = weighted});
    const Memory scratch(context().device(), std::max(loss->scratch_bytes(), metric_plan->scratch_bytes()));
    const Memory partial(context().device(), metric_plan->partial_bytes());
    Tensor gradients(context().device(), model.parameter_block().spec());
    std::vector<float> scalars(1);
    optimizer->scalars(0, scalars);
    const Memory alpha = upload(scalars), counter(context().device(), sizeof(uint64_t));
    const auto* scale = static_cast<const float*>(alpha.data());
    const auto* step_count = static_cast<const uint64_t*>(counter.data());

    Result result;
    for (int step = 0; step < steps; ++step) {
      const auto rows = rows_of(from, step);
      features.write(rows);
      label.write(labels_of(from, rows));
      const auto steps_before = static_cast<uint64_t>(step);
      context().copy(counter.data(), &steps_before, sizeof(steps_before));
      const ConstTensorView inputs[] = {features.view()};
      plan.forward(context(), inputs, step_count);
      loss->run(context(), {.prediction = plan.output(),
                            .label = label.view(),
                            .weight = weighted ? ConstTensorView(weight.view()) : ConstTensorView(),
                            .loss = value.view().data(),
                            .gradient = plan.output_gradient(),
                            .scratch = scratch.data()});
      metric_plan->run(context(), {.prediction = plan.output(),
                                   .label = label.view(),
                                   .weight = weighted ? ConstTensorView(weight.view()) : ConstTensorView(),
                                   .partial = partial.data(),
                                   .scratch = scratch.data()});
      plan.backward(context(), inputs, step_count, plan.in_place() ? scale : nullptr, gradients.view());
      if (!plan.in_place()) {
        optimizer->update(
            context(),
            {.parameters = model.parameter_block(), .gradients = gradients.view(), .slots = {}, .scalars = scale});
      }
      result.losses.push_back(value.read()[0]);
    }
    const std::vector<std::byte> host_partial = download<std::byte>(partial.data(), partial.bytes());
    const std::unique_ptr<MetricAccumulator> accumulator = metric->accumulator();
    accumulator->add(host_partial, from.batch);
    result.accuracy = accumulator->value();
    result.weights = values_of(context(), model);
    return result;
  }
};

const std::vector<LayerLine> kDense = {{"dense", dense_units(48, "relu")}, {"dense", dense_units(1)}};

// Two layers that may share a rectifier, as that is least alike.
const std::vector<LayerLine> kBare = {{"dense", dense_units(21, "relu").set("bias", false)},
                                      {"dense", dense_units(1).set("bias", false)}};
const std::vector<LayerLine> kBent = {
    {"dense", dense_units(30, "tanh")}, {"dense", dense_units(1, "relu")}, {"dense", dense_units(1, "sigmoid")}};

Spec rows_of_5() { return Spec::list().append(Spec::of(-1)).append(Spec::of(5)); }

// Every kind of layer, and a value that two layers read.
const std::vector<LayerLine> kGraph = {
    {.kind = "dense", .options = dense_units(20, "gelu"), .from = {}, .name = "first"},
    {.kind = "relu", .options = Spec::map(), .from = {}, .name = "bend"},
    {.kind = "dense", .options = dense_units(20, "tanh"), .from = {}, .name = "second"},
    {.kind = "add", .options = Spec::map(), .from = {"bend", "second"}, .name = {}},
    {.kind = "tanh", .options = Spec::map(), .from = {}, .name = {}},
    {.kind = "gelu", .options = Spec::map(), .from = {}, .name = {}},
    {.kind = "scale", .options = Spec::map(), .from = {}, .name = {}},
    {.kind = "dropout", .options = Spec::map().set("rate", 0.25), .from = {}, .name = {}},
    {.kind = "leaky_relu", .options = Spec::map(), .from = {}, .name = {}},
    {.kind = "reshape", .options = Spec::map().set("shape", rows_of_5()), .from = {}, .name = "folded"},
    {.kind = "softmax", .options = Spec::map(), .from = {}, .name = {}},
    {.kind = "elu", .options = Spec::map(), .from = {"folded"}, .name = {}},
    {.kind = "mul", .options = Spec::map(), .from = {"softmax", "elu", "folded"}, .name = {}},
    {.kind = "concat", .options = Spec::map().set("axis", 1), .from = {"mul", "folded", "folded"}, .name = {}},
    {.kind = "scale", .options = Spec::map().set("bias", false), .from = {}, .name = "along"},
    {.kind = "sigmoid", .options = Spec::map(), .from = {}, .name = {}},
    {.kind = "flatten", .options = Spec::map(), .from = {}, .name = {}},
    {.kind = "dense", .options = dense_units(8, "sigmoid"), .from = {}, .name = "narrow"},
    {.kind = "dense", .options = dense_units(1), .from = {}, .name = "last"}};

// Every kind of layer for images.
Spec shape_of(std::initializer_list<int64_t> sizes) {
  Spec out = Spec::list();
  for (const int64_t size : sizes) out.append(Spec::of(size));
  return Spec::map().set("shape", out);
}
Spec windows(int64_t filters, int64_t kernel, std::string_view activation) {
  return Spec::map().set("filters", filters).set("kernel", kernel).set("padding", "same").set("activation", activation);
}
const std::vector<LayerLine> kImages = {
    {"reshape", shape_of({2, 8, 8})},
    {"conv2d", windows(6, 3, "relu")},
    {.kind = "batch_norm", .options = Spec::map(), .from = {}, .name = "normal"},
    {"conv2d", windows(6, 2, "gelu").set("groups", 3)},
    {.kind = "add", .options = Spec::map(), .from = {"normal", "conv2d_2"}, .name = {}},
    {"max_pool", Spec::map().set("size", 3).set("stride", 2).set("padding", "same")},
    {"group_norm", Spec::map().set("groups", 2)},
    {"conv_transpose2d", windows(4, 4, "tanh").set("stride", 2)},
    {"avg_pool", Spec::map().set("size", 2)},
    {"layer_norm", Spec::map()},
    {"conv2d", windows(8, 3, "none").set("dilation", 2)},
    {"global_avg_pool", Spec::map()},
    {"batch_norm", Spec::map()},
    {"dense", dense_units(1)}};

TEST_F(CudaTraining, GoesAsOnTheCpu) {
  for (const auto& layers : {kDense, kBare, kBent, kGraph}) {
    for (const bool in_place : {true, false}) {
      const TrainingCase from{.layers = layers, .row = Shape{33}, .batch = 23, .in_place = in_place};
      expect_near(train(from, 30), train_on_cpu(from, 30), 2e-4);
    }
  }
}

// Also where there is no GPU, so that what is compared there is known to train.
TEST(CudaTrainingOfImages, IsOneOnTheCpu) {
  TrainingCase from{.layers = kImages, .row = Shape{128}, .batch = 11};
  const Result result = train_on_cpu(from, 20);
  EXPECT_NE(result.losses.back(), result.losses.front());
  // No more than half of what the devices may differ by is float's rounding. The blocks of weights differ in padding.
  from.dtype = DType::f64;
  const Result wide = train_on_cpu(from, 20);
  for (size_t i = 0; i < wide.losses.size(); ++i) EXPECT_NEAR(result.losses[i], wide.losses[i], 2.5e-4) << i;
}

TEST_F(CudaTraining, OfImagesGoesAsOnTheCpu) {
  constexpr int kSteps = test::kSanitized ? 6 : 20;
  for (const bool in_place : {true, false}) {
    TrainingCase from{.layers = kImages, .row = Shape{128}, .batch = 11, .in_place = in_place};
    expect_near(train(from, kSteps), train_on_cpu(from, kSteps), 5e-4);
    from.dtype = DType::f64;
    expect_near(train(from, kSteps), train_on_cpu(from, kSteps), 1e-9);
  }
}

TEST_F(CudaTraining, GoesAsOnTheCpuInDouble) {
  const TrainingCase from{.layers = kGraph, .row = Shape{33}, .batch = 23, .dtype = DType::f64, .in_place = true};
  expect_near(train(from, 30), train_on_cpu(from, 30), 1e-10);
}

// A GPU rounds a multiply-add once: that must not make a gradient where there is none.
TEST_F(CudaTraining, NothingMovesALayerWhoseValuesAreNormalisedOneByOne) {
  for (const LayerLine& norm :
       {LayerLine{"batch_norm", Spec::map()}, LayerLine{"group_norm", Spec::map().set("groups", 6)}}) {
    const TrainingCase from{
        .layers = {{"dense", dense_units(6)}, norm, {"dense", dense_units(1)}}, .row = Shape{33}, .batch = 1};
    const Result early = train(from, 1), late = train(from, 6);
    EXPECT_NE(late.losses.back(), early.losses.back());
    for (size_t i = 0; i < 6 * 33; ++i) EXPECT_EQ(late.weights[i], early.weights[i]) << norm.kind << i;
  }
}

TEST_F(CudaTraining, GivesTheSameBitsEveryTime) {
  const TrainingCase from{.layers = kDense, .row = Shape{200}, .batch = 64};
  const Result first = train(from, 20);
  for (int run = 0; run < 2; ++run) {
    const Result again = train(from, 20);
    EXPECT_EQ(again.losses, first.losses);
    EXPECT_EQ(test::bytes_of(again.weights), test::bytes_of(first.weights));
  }
  const TrainingCase images{.layers = kImages, .row = Shape{128}, .batch = 11};
  EXPECT_EQ(test::bytes_of(train(images, 20).weights), test::bytes_of(train(images, 20).weights));
}

TEST_F(CudaTraining, EqualWeightsAreNoWeights) {
  const TrainingCase from{.layers = kDense, .row = Shape{33}, .batch = 23};
  const Result weighted = train(from, 5, true), plain = train(from, 5, false);
  expect_near(weighted, plain, 1e-5);
  EXPECT_DOUBLE_EQ(weighted.accuracy, plain.accuracy);
}

TEST_F(CudaTraining, AnUpdateScalesItsGradientsByANumberOfTheDevice) {
  const Spec options = Spec::map().set("learning_rate", 1);
  const auto sgd = LayerCatalog::builtin().optimizers.make({"sgd", options}, options);
  const Memory parameters = upload<float>({1, 2, 3}), gradients = upload<float>({4, -4, 0});
  const Memory numbers = upload<float>({-0.5, 0.25});
  const auto* scalar = static_cast<const float*>(numbers.data());
  sgd->update(context(), {.parameters = TensorView(parameters.data(), DType::f32, Shape{3}),
                          .gradients = TensorView(gradients.data(), DType::f32, Shape{3}),
                          .slots = {},
                          .scalars = scalar,
                          .gradient_scale = scalar + 1});
  EXPECT_EQ(download<float>(parameters.data(), 3), (std::vector<float>{0.5, 2.5, 3}));
}

TEST_F(CudaTraining, Learns) {
  if (test::kEmulated) GTEST_SKIP() << "takes long";
  const TrainingCase from{.layers = kDense, .row = Shape{16}, .batch = 256, .learning_rate = 0.5};
  const Result result = train(from, 300);
  EXPECT_LT(result.losses.back(), result.losses.front() / 2);
  EXPECT_GT(result.accuracy, 0.85);
}

}  // namespace
}  // namespace millrace
