#include "millrace/layers/gradients/one_output.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/cuda/device_tensor.h"
#include "tests/layers/gradient_check.h"
#include "tests/support/cuda.h"

namespace millrace::testing {
namespace {

struct Form {
  int64_t batch, in;
  bool dx = true, bias = true, adds = false;
  bool apart = false;  // to memory of their own, which is only written
  bool rectified = false;
  bool packed = false;  // x, in rows that begin anywhere
};

class CudaOneOutput : public test::CudaTest {
 protected:
  // Into the weight and the bias themselves, a quarter less of each gradient, or apart.
  void check(const Form& form, DType dtype) {
    SCOPED_TRACE(cat(form.batch, " x ", form.in, ' ', to_string(dtype), form.adds ? " adds" : ""));
    const int64_t batch = form.batch, in = form.in;
    std::vector<double> x = draws("x", batch * in, -1, 1);
    for (double& value : x) value = form.rectified && value < 0 ? 0 : value;
    const std::vector<double> dy = draws("dy", batch, -1, 1), w = draws("w", in, -1, 1);
    const Memory packed = upload(std::vector<float>(x.begin(), x.end()));
    DeviceTensor xs(context(), {Shape{batch, in}, dtype}), dys(context(), {Shape{batch, 1}, dtype}),
        weight(context(), {Shape{1, in}, dtype}), dx(context(), {Shape{batch, in}, dtype}),
        bias(context(), {Shape{1, 1}, dtype}), dweight(context(), {Shape{1, in}, dtype}),
        sums(context(), {Shape{1, in}, dtype});
    xs.write(x);
    dys.write(dy);
    weight.write(w);
    dx.write(std::vector<double>(x.size(), form.adds ? 1 : std::nan("")));
    bias.write({form.apart ? std::nan("") : 0.5});
    dweight.write(nans(in));
    sums.write(std::vector<double>(w.size(), form.apart ? std::nan("") : 2));
    const Memory alpha = upload<float>({-0.25F}), scratch(context().device(), one_output_scratch(xs.view().spec()));
    const auto* const factor = static_cast<const float*>(alpha.data());

    const auto where = [&](DeviceTensor& inside) {
      return form.apart ? Destination{.view = inside.view()}
                        : Destination{.view = inside.view(), .beta = 1, .alpha = factor};
    };
    DeviceTensor& weights = form.apart ? dweight : weight;
    one_output_gradients(
        context(),
        {.x = form.packed ? TensorView(packed.data(), DType::f32, Shape{batch, in}) : xs.view(),
         .weight = weight.view(),
         .dy = dys.view(),
         .dx = form.dx ? Destination{.view = dx.view(), .beta = form.adds ? 1.0F : 0.0F} : Destination{},
         .dweight = where(weights),
         .dbias = form.bias ? where(bias) : Destination{},
         .rectified = form.rectified,
         .sums = form.rectified ? where(sums) : Destination{}},
        scratch.data());

    std::vector<double> expected_dx(x.size()), expected_weight = form.apart ? std::vector<double>(w.size()) : w;
    std::vector<double> expected_sums(w.size(), form.apart ? 0 : 2);
    double expected_bias = form.apart ? 0 : 0.5;
    const double times = form.apart ? 1 : -0.25;
    for (int64_t i = 0; i < batch; ++i) {
      const double slope = dy[static_cast<size_t>(i)];
      expected_bias += times * slope;
      for (int64_t j = 0; j < in; ++j) {
        const auto at = static_cast<size_t>(i * in + j), column = static_cast<size_t>(j);
        // Of the weight before it changed.
        const double dx_term = form.rectified && x[at] == 0 ? 0 : slope * w[column];
        expected_dx[at] = dx_term + (form.adds ? 1 : 0);
        expected_sums[column] += times * dx_term;
        expected_weight[column] += times * slope * x[at];
      }
    }
    const double tolerance = dtype == DType::f32 ? 5e-5 : 1e-12;
    if (form.dx) expect_close(dx.read(), expected_dx, tolerance, "dx");
    expect_close(weights.read(), expected_weight, tolerance, "weight");
    if (form.rectified) expect_close(sums.read(), expected_sums, tolerance, "sums");
    if (form.bias) {
      expect_close(bias.read(), {expected_bias}, tolerance, "bias");
    } else {
      EXPECT_EQ(bias.read(), std::vector<double>{0.5});
    }
  }
};

TEST_F(CudaOneOutput, HoldsInPlace) {
  for (const int64_t batch : {1, 23, 256, 1500}) {
    for (const int64_t in : {1, 31, 32, 70}) check({.batch = batch, .in = in}, DType::f32);
  }
}

TEST_F(CudaOneOutput, HoldsApart) {
  for (const int64_t batch : {5, 700}) check({.batch = batch, .in = 40, .apart = true}, DType::f32);
}

TEST_F(CudaOneOutput, LeavesOutWhatNobodyNeeds) {
  check({.batch = 40, .in = 32, .dx = false}, DType::f32);
  check({.batch = 40, .in = 32, .bias = false}, DType::f32);
  check({.batch = 40, .in = 32, .dx = false, .bias = false}, DType::f32);
}

TEST_F(CudaOneOutput, AddsToTheGradientOfItsInput) { check({.batch = 40, .in = 33, .adds = true}, DType::f32); }

TEST_F(CudaOneOutput, PassesTheRectifierBeforeIt) {
  for (const int64_t batch : {1, 23, 256, 700}) {
    for (const int64_t in : {1, 3, 4, 16, 17, 70}) check({.batch = batch, .in = in, .rectified = true}, DType::f32);
  }
  check({.batch = 40, .in = 33, .bias = false, .rectified = true}, DType::f32);
  check({.batch = 700, .in = 33, .apart = true, .rectified = true}, DType::f32);
}

TEST_F(CudaOneOutput, ReadsRowsThatBeginAnywhere) {
  for (const int64_t in : {1, 7, 34}) check({.batch = 23, .in = in, .rectified = true, .packed = true}, DType::f32);
}

}  // namespace
}  // namespace millrace::testing
