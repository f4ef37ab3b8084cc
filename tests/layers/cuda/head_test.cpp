// A loss that computes the head before it, beside the head and the loss one after the other.
#include "millrace/layers/head.h"

#include <gtest/gtest.h>

#include <cmath>

#include "millrace/layers/gradients/one_output.h"
#include "tests/layers/cuda/device_tensor.h"
#include "tests/layers/losses/loss_run.h"
#include "tests/layers/metrics/metric_run.h"
#include "tests/support/cuda.h"

namespace millrace::testing {
namespace {

struct HeadCase {
  std::string kind = "mse";
  int64_t batch = 4, in = 8;
  bool bias = true, rectifies = true, weighted = false;
  bool packed = false;  // x, in rows that begin anywhere
};

struct Outcome {
  std::vector<float> x;
  std::vector<double> y, gradient, value;
};

class CudaHead : public test::CudaTest {
 protected:
  // The memory of one head and the loss behind it.
  struct Rows {
    Rows(CudaHead& test, const HeadCase& from)
        : form(from),
          loss(make_loss(from.kind)),
          stride(from.packed ? from.in : static_cast<int64_t>(aligned_bytes(size_t(from.in) * 4) / 4)),
          x(test.upload(values(from, stride))),
          weight(test.context(), {Shape{1, from.in}, DType::f32}),
          bias(test.context(), {Shape{1, 1}, DType::f32}),
          y(test.context(), {Shape{from.batch, 1}, DType::f32}),
          gradient(test.context(), {Shape{from.batch, 1}, DType::f32}),
          label(test.context(), {Shape{from.batch, 1}, loss->label({Shape{1}, DType::f32}).dtype}),
          row_weight(test.context(), {Shape{from.batch, 1}, DType::f32}),
          value(test.context(), {Shape{1, 2}, DType::f32}),
          ticket(test.context().device(), sizeof(unsigned)) {
      weight.write(draws("weight", from.in, -1, 1));
      bias.write({0.25});
      y.write(nans(from.batch));
      gradient.write(nans(from.batch));
      label.write(drawn_classes("label", from.batch, 2));
      row_weight.write(drawn_weights(from.batch));
      plan = loss->plan(test.context(), {.prediction = y.view(), .label = label.view(), .weighted = from.weighted});
      scratch = Memory(test.context().device(), plan->scratch_bytes());
      test.context().synchronize();  // It may be destroyed before anything runs.
    }

    // Rows of weight 0 hold a NaN.
    static std::vector<float> values(const HeadCase& from, int64_t stride) {
      std::vector<double> drawn = draws("x", from.batch * stride, -1, 1);
      const std::vector<double> weights = drawn_weights(from.batch);
      for (int64_t row = 0; from.weighted && row < from.batch; ++row) {
        if (weights[size_t(row)] == 0) drawn[size_t(row * stride + row % from.in)] = std::nan("");
      }
      return {drawn.begin(), drawn.end()};
    }

    Head head() {
      const TensorView view(x.data(), DType::f32, Shape{form.batch, form.in}, static_cast<size_t>(stride) * 4);
      return {.x = view,
              .rectified = form.rectifies ? view : TensorView(),
              .weight = weight.view(),
              .bias = form.bias ? ConstTensorView(bias.view()) : ConstTensorView(),
              .y = y.view(),
              .ticket = static_cast<unsigned*>(ticket.data())};
    }

    LossArgs loss_args() {
      return {.prediction = y.view(),
              .label = label.view(),
              .weight = form.weighted ? ConstTensorView(row_weight.view()) : ConstTensorView(),
              .loss = value.view().data(),
              .gradient = gradient.view(),
              .scratch = scratch.data()};
    }
    void run_together(Context& context) {
      auto& head_loss = dynamic_cast<HeadLossPlan&>(*plan);
      ASSERT_TRUE(head_loss.can_run_with_head());
      head_loss.run_with_head(context, head(), loss_args());
    }
    bool can_run_together() const { return dynamic_cast<const HeadLossPlan&>(*plan).can_run_with_head(); }

    HeadCase form;
    std::unique_ptr<Loss> loss;
    int64_t stride;
    Memory x;
    DeviceTensor weight, bias, y, gradient, label, row_weight, value;
    Memory ticket, scratch;
    std::unique_ptr<LossPlan> plan;
  };

  Outcome outcome(Rows& rows) {
    return {.x = download<float>(rows.x.data(), rows.x.bytes() / sizeof(float)),
            .y = rows.y.read(),
            .gradient = rows.gradient.read(),
            .value = rows.value.read()};
  }

  void check(const HeadCase& from) {
    SCOPED_TRACE(cat(from.kind, ' ', from.batch, " x ", from.in, from.weighted ? " weighted" : ""));
    Rows apart(*this, from), together(*this, from);
    compute_head(context(), apart.head());
    apart.plan->run(context(), apart.loss_args());
    const Outcome expected = outcome(apart);

    together.run_together(context());
    const Outcome first = outcome(together);
    EXPECT_EQ(test::bytes_of(first.x), test::bytes_of(expected.x));
    EXPECT_EQ(test::bytes_of(first.y), test::bytes_of(expected.y));
    expect_close(first.gradient, expected.gradient, 1e-6, "gradient");
    expect_close(first.value, expected.value, 1e-6, "value");
    for (int again = 0; again < 2; ++again) {
      together.run_together(context());
      const Outcome next = outcome(together);
      EXPECT_EQ(test::bytes_of(next.y), test::bytes_of(first.y));
      EXPECT_EQ(test::bytes_of(next.gradient), test::bytes_of(first.gradient));
      EXPECT_EQ(next.value, first.value);
      EXPECT_EQ(download<unsigned>(together.ticket.data(), 1)[0], 0U);
    }
  }
};

TEST_F(CudaHead, IsAProductWithAVector) {
  for (const int64_t in : {1, 4, 31, 64, 70, 1100}) {
    for (const bool rectifies : {true, false}) {
      for (const bool packed : {true, false}) {
        const HeadCase form{.batch = 5, .in = in, .bias = in != 31, .rectifies = rectifies, .packed = packed};
        Rows rows(*this, form);
        compute_head(context(), rows.head());
        const auto x = Rows::values(form, rows.stride);
        const auto after = download<float>(rows.x.data(), x.size());
        const std::vector<double> w = draws("weight", in, -1, 1);
        std::vector<double> expected(5, form.bias ? 0.25 : 0);
        for (int64_t row = 0; row < 5; ++row) {
          for (int64_t k = 0; k < rows.stride; ++k) {
            const auto at = static_cast<size_t>(row * rows.stride + k);
            const float value = rectifies && k < in && x[at] < 0 ? 0 : x[at];
            EXPECT_EQ(after[at], value) << row << ' ' << k;
            if (k < in) expected[size_t(row)] += static_cast<double>(value) * w[size_t(k)];
          }
        }
        expect_close(rows.y.read(), expected, 1e-5, "y");
      }
    }
  }
}

TEST_F(CudaHead, ALossMayComputeIt) {
  for (const char* kind : {"sigmoid_cross_entropy", "mse", "mae", "huber", "hinge"}) {
    for (const bool weighted : {false, true}) check({.kind = kind, .batch = 37, .in = 20, .weighted = weighted});
  }
  for (const int64_t batch : {1, 2, 256, 1024}) {
    for (const bool weighted : {false, true}) check({.batch = batch, .in = 3, .weighted = weighted});
  }
  check({.batch = 1500, .in = 5});
  for (const int64_t in : {1, 33, 300}) check({.batch = 9, .in = in, .packed = true});
  check({.bias = false});
  check({.rectifies = false});
}

// A diverging model shows.
TEST_F(CudaHead, ANanStaysOne) {
  Rows rows(*this, {.batch = 8, .in = 8});
  const float nan = std::nanf("");
  context().copy(static_cast<float*>(rows.x.data()) + 3 * rows.stride, &nan, sizeof nan);
  rows.run_together(context());
  const Outcome found = outcome(rows);
  EXPECT_TRUE(std::isnan(found.x[size_t(3 * rows.stride)]));
  for (size_t row = 0; row < 8; ++row) {
    EXPECT_EQ(std::isnan(found.y[row]), row == 3);
    EXPECT_EQ(std::isnan(found.gradient[row]), row == 3);
  }
  EXPECT_TRUE(std::isnan(found.value[0]));
}

TEST_F(CudaHead, IsNotTakenWhereAnotherWayIsFaster) {
  EXPECT_TRUE(Rows(*this, {.batch = 1024, .weighted = true}).can_run_together());
  EXPECT_FALSE(Rows(*this, {.batch = 1025, .weighted = true}).can_run_together());
  EXPECT_FALSE(Rows(*this, {.batch = 8193}).can_run_together());
  DeviceTensor wide(context(), {Shape{4, 2}, DType::f32});
  const auto plan = make_loss("mse")->plan(context(), {.prediction = wide.view(), .label = wide.view()});
  EXPECT_FALSE(dynamic_cast<const HeadLossPlan&>(*plan).can_run_with_head());
}

}  // namespace
}  // namespace millrace::testing
