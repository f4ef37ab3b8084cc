// Every loss and every metric on the device against the CPU.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "tests/layers/cuda/device_tensor.h"
#include "tests/layers/losses/loss_checks.h"
#include "tests/layers/metrics/metric_run.h"
#include "tests/support/cuda.h"

namespace millrace::testing {
namespace {

// One loss or metric on drawn rows of one shape.
struct DeviceCase {
  std::string kind;
  Spec options = Spec::map();
  Shape row;  // of the prediction
  Shape label_row;
  DType label = DType::f32;
  int classes = 0;  // labels are 0 to this less 1; 0: any number
};

const Spec kSmooth = Spec::map().set("label_smoothing", 0.1);

std::vector<DeviceCase> losses() {
  const Shape one{1}, grid{2, 3};
  return {{.kind = "sigmoid_cross_entropy", .row = grid, .label_row = grid, .classes = 2},
          {.kind = "mse", .row = grid, .label_row = grid},
          {.kind = "mae", .row = grid, .label_row = grid},
          {.kind = "huber", .row = grid, .label_row = grid},
          {.kind = "hinge", .row = grid, .label_row = grid, .label = DType::i32, .classes = 2},
          {.kind = "softmax_cross_entropy", .row = Shape{2}, .label_row = one, .label = DType::i32, .classes = 2},
          {.kind = "softmax_cross_entropy",
           .options = kSmooth,
           .row = Shape{67},
           .label_row = one,
           .label = DType::i32,
           .classes = 67}};
}

std::vector<DeviceCase> metrics() {
  const Shape one{1}, ten{10}, grid{2, 3};
  std::vector<DeviceCase> out = {{.kind = "mse", .row = grid, .label_row = grid},
                                 {.kind = "mae", .row = grid, .label_row = grid},
                                 {.kind = "rmse", .row = grid, .label_row = grid},
                                 {.kind = "r2", .row = grid, .label_row = grid},
                                 {.kind = "auc", .row = one, .label_row = one, .classes = 2},
                                 {.kind = "top_k", .row = ten, .label_row = one, .label = DType::i32, .classes = 10}};
  for (const char* const kind : {"accuracy", "precision", "recall", "f1"}) {
    out.push_back({.kind = kind, .row = one, .label_row = one, .classes = 2});
    out.push_back({.kind = kind, .row = ten, .label_row = one, .label = DType::i32, .classes = 10});
  }
  return out;
}

std::vector<std::string> kinds_of(const std::vector<DeviceCase>& cases) {
  std::set<std::string> kinds;
  for (const DeviceCase& each : cases) kinds.insert(each.kind);
  return {kinds.begin(), kinds.end()};
}

// Few rows, and more than one block of threads adds up at once.
constexpr int64_t kBatches[] = {40, 1500};

// The rows of a case on one device. Some have weight 0, and NaN is predicted for them.
class DeviceRows {
 public:
  DeviceRows(Context& context, const DeviceCase& from, int64_t batch, DType dtype, bool weighted)
      : prediction(context, {from.row.with_batch(batch), dtype}),
        label(context, {from.label_row.with_batch(batch), from.label}),
        weight(context, {Shape{batch, 1}, DType::f32}),
        is_weighted(weighted) {
    const auto columns = static_cast<size_t>(from.row.elements());
    std::vector<double> predictions = draws_with_ties("prediction", batch * from.row.elements(), -4, 4);
    const std::vector<double> weights = drawn_weights(batch);
    for (size_t i = 0; weighted && i < predictions.size(); ++i) {
      if (weights[i / columns] == 0) predictions[i] = std::nan("");
    }
    prediction.write(predictions);
    const int64_t labels = batch * from.label_row.elements();
    label.write(from.classes > 0 ? drawn_classes("label", labels, from.classes) : draws("label", labels, -4, 4));
    weight.write(weights);
  }

  ConstTensorView weights() { return is_weighted ? ConstTensorView(weight.view()) : ConstTensorView(); }

  DeviceTensor prediction, label, weight;
  bool is_weighted;
};

struct LossResult {
  std::vector<double> value, gradient;
};

LossResult run_loss(Context& context, const DeviceCase& from, int64_t batch, DType dtype, bool weighted) {
  DeviceRows rows(context, from, batch, dtype, weighted);
  DeviceTensor value(context, {Shape{1, 2}, dtype}), gradient(context, {from.row.with_batch(batch), dtype});
  const auto plan =
      make_loss(from.kind, from.options)
          ->plan(context, {.prediction = rows.prediction.view(), .label = rows.label.view(), .weighted = weighted});
  const Memory scratch(context.device(), plan->scratch_bytes());
  plan->run(context, {.prediction = rows.prediction.view(),
                      .label = rows.label.view(),
                      .weight = rows.weights(),
                      .loss = value.view().data(),
                      .gradient = gradient.view(),
                      .scratch = scratch.data()});
  return {value.read(), gradient.read()};
}

std::vector<std::byte> run_metric(Context& context, const DeviceCase& from, int64_t batch, DType dtype, bool weighted) {
  DeviceRows rows(context, from, batch, dtype, weighted);
  const auto plan =
      make_metric(from.kind, from.options)
          ->plan(context, {.prediction = rows.prediction.view(), .label = rows.label.view(), .weighted = weighted});
  const Memory scratch(context.device(), plan->scratch_bytes());
  const Memory partial(context.device(), plan->partial_bytes());
  plan->run(context, {.prediction = rows.prediction.view(),
                      .label = rows.label.view(),
                      .weight = rows.weights(),
                      .partial = partial.data(),
                      .scratch = scratch.data()});
  std::vector<std::byte> out(partial.bytes());
  context.copy(out.data(), partial.data(), out.size());
  context.synchronize();
  return out;
}

double value_of_partial(const DeviceCase& from, int64_t batch, const std::vector<std::byte>& partial) {
  const auto accumulator = make_metric(from.kind, from.options)->accumulator();
  accumulator->add(partial, batch);
  return accumulator->value();
}

class CudaLossesAndMetrics : public test::CudaTest {
 protected:
  Executor executor_{2};
  Context cpu_{Device::cpu(), executor_};
};

TEST(CudaLossesAndMetricsList, IsComplete) {
  const LayerCatalog catalog = LayerCatalog::builtin();
  EXPECT_EQ(kinds_of(losses()), catalog.losses.kinds());
  EXPECT_EQ(kinds_of(metrics()), catalog.metrics.kinds());
}

// Every size of batch, dtype and way of weights.
template <class F>
void for_each_form(const DeviceCase& from, const F& check) {
  for (const int64_t batch : kBatches) {
    // Threads of long rows meet often, which takes long there.
    if (test::kEmulated && batch > 40 && from.row.elements() > 6) continue;
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const bool weighted : {false, true}) {
        SCOPED_TRACE(
            cat(batch, ' ', from.kind, ' ', from.row.text(), ' ', to_string(dtype), weighted ? " weighted" : ""));
        check(batch, dtype, weighted);
      }
    }
  }
}

TEST_F(CudaLossesAndMetrics, LossesAreAsOnTheCpu) {
  for (const DeviceCase& from : losses()) {
    for_each_form(from, [&](int64_t batch, DType dtype, bool weighted) {
      const double tolerance = dtype == DType::f32 ? 1e-5 : 1e-12;
      const LossResult device = run_loss(context(), from, batch, dtype, weighted);
      const LossResult cpu = run_loss(cpu_, from, batch, dtype, weighted);
      expect_close(device.value, cpu.value, tolerance, "value");
      expect_close(device.gradient, cpu.gradient, tolerance, "gradient");
      const LossResult again = run_loss(context(), from, batch, dtype, weighted);
      EXPECT_EQ(again.value, device.value);
      EXPECT_EQ(again.gradient, device.gradient);
    });
  }
}

TEST_F(CudaLossesAndMetrics, MetricsAreAsOnTheCpu) {
  for (const DeviceCase& from : metrics()) {
    for_each_form(from, [&](int64_t batch, DType dtype, bool weighted) {
      const std::vector<std::byte> device = run_metric(context(), from, batch, dtype, weighted);
      const double expected = value_of_partial(from, batch, run_metric(cpu_, from, batch, dtype, weighted));
      EXPECT_NEAR(value_of_partial(from, batch, device), expected, 1e-12 * std::max(1.0, std::abs(expected)));
      EXPECT_EQ(run_metric(context(), from, batch, dtype, weighted), device);
    });
  }
}

// On the device several threads share a row's logits, and all that one looks at may be impossible classes.
TEST_F(CudaLossesAndMetrics, AClassMayBeImpossible) {
  DeviceTensor logits(context(), {Shape{1, 33}, DType::f32}), label(context(), {Shape{1, 1}, DType::i32});
  DeviceTensor value(context(), {Shape{1, 2}, DType::f32}), gradient(context(), {Shape{1, 33}, DType::f32});
  std::vector<double> values(33, 1.0);
  for (size_t i = 3; i < 17; ++i) values[i] = -std::numeric_limits<double>::infinity();
  logits.write(values);
  label.write({20});
  const auto plan =
      make_loss("softmax_cross_entropy")->plan(context(), {.prediction = logits.view(), .label = label.view()});
  const Memory scratch(context().device(), plan->scratch_bytes());
  plan->run(context(), {.prediction = logits.view(),
                        .label = label.view(),
                        .weight = {},
                        .loss = value.view().data(),
                        .gradient = gradient.view(),
                        .scratch = scratch.data()});
  EXPECT_NEAR(value.read()[0], std::log(19.0), 1e-6);
  EXPECT_EQ(gradient.read()[3], 0);
  EXPECT_NEAR(gradient.read()[20], 1.0 / 19 - 1, 1e-6);
}

}  // namespace
}  // namespace millrace::testing
