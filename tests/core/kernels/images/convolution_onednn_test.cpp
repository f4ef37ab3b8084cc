#include <gtest/gtest.h>

#include <limits>

#include "tests/core/kernels/images/convolution_check.h"

namespace millrace::testing {
namespace {

TEST(OnednnConvolution, AgreesWithTheDefinition) {
  for (const ConvolutionSpec& spec : odd_convolutions()) expect_like_reference<float>(spec, 1e-4);
}

TEST(OnednnConvolution, GivesTheSameBitsForEveryNumberOfThreads) {
  for (const ConvolutionSpec& spec : {square(23, 3, 12, 8, 3, 1), square(64, 16, 16, 16, 3, 1)}) {
    const Reference reference(spec);
    ConvolutionRun<float> alone(reference, 1);
    const Values y = alone.forward(), dx = alone.input_gradient();
    const auto gradient = alone.weight_gradient();
    for (const int threads : {2, 3, 8}) {
      ConvolutionRun<float> run(reference, threads);
      EXPECT_EQ(run.forward(), y) << threads;
      EXPECT_EQ(run.input_gradient(), dx) << threads;
      EXPECT_EQ(run.weight_gradient().weight, gradient.weight) << threads;
      EXPECT_EQ(run.weight_gradient().bias, gradient.bias) << threads;
    }
  }
}

TEST(OnednnConvolution, WithoutABias) {
  Reference reference(square(3, 2, 6, 4, 3));
  Values y = reference.y;
  const auto pixels = static_cast<size_t>(reference.spec.height.out() * reference.spec.width.out());
  for (size_t i = 0; i < y.size(); ++i) y[i] -= reference.bias[i / pixels % reference.bias.size()];
  expect_near(ConvolutionRun<float>(reference).forward(false), y, 1e-5, "y");
}

TEST(OnednnConvolution, RectifiesAndKeepsWhatIsNoNumber) {
  Reference reference(square(1, 1, 4, 1, 1));
  reference.x[5] = std::numeric_limits<double>::quiet_NaN();
  reference.weight = {1};
  reference.bias = {0.1};
  const Values y = ConvolutionRun<float>(reference).forward(true, FusedActivation::relu);
  EXPECT_TRUE(std::isnan(y[5]));
  for (size_t i = 0; i < y.size(); ++i) {
    if (i == 5) continue;
    EXPECT_FLOAT_EQ(static_cast<float>(y[i]), static_cast<float>(std::max(0.0, reference.x[i] + 0.1)));
  }
}

// An image by itself, and the same image in a batch.
void expect_images_alone(ConvolutionSpec spec, ConvolutionPass pass) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  spec.batch = 37;
  const bool forward = pass == ConvolutionPass::forward;
  const TensorSpec from = forward ? spec.input() : spec.output(), to = forward ? spec.output() : spec.input();
  const std::vector<float> in = channels_last<float>(drawn("in", from.shape.elements()), from.shape);
  const Values drawn_weight = drawn("weight", spec.weight().shape.elements());
  const std::vector<float> weight(drawn_weight.begin(), drawn_weight.end());
  const int64_t in_size = from.shape.row().elements(), out_size = to.shape.row().elements();
  const auto run = [&](int64_t begin, int64_t images) {
    ConvolutionSpec some = spec;
    some.batch = images;
    std::vector<float> out(static_cast<size_t>(images * out_size));
    const float* const read = in.data() + begin * in_size;
    ConvolutionArgs args{.weight = weight.data()};
    (forward ? args.x : args.dy) = read;
    if (forward) {
      args.y = out.data();
    } else {
      args.dx.view = TensorView(out.data(), DType::f32, some.input().shape);
    }
    make_convolution(context, some, {.pass = pass, .images_alone = true})->run(context, args);
    return out;
  };
  const std::vector<float> all = run(0, spec.batch);
  for (const int64_t begin : {0, 1, 30, 36}) {
    for (const int64_t images : {1, 7}) {
      if (begin + images > spec.batch) continue;
      const std::vector<float> expected(all.begin() + begin * out_size, all.begin() + (begin + images) * out_size);
      EXPECT_EQ(run(begin, images), expected)
          << spec.input().text() << " with " << spec.weight().text() << ": " << images << " from " << begin;
    }
  }
}

TEST(OnednnConvolution, AnImageDependsOnItselfAlone) {
  for (const ConvolutionSpec& spec : odd_convolutions()) {
    expect_images_alone(spec, ConvolutionPass::forward);
    expect_images_alone(spec, ConvolutionPass::input_gradient);
  }
}

// A smaller batch is never said to need more than a larger one.
TEST(OnednnConvolution, SaysHowMuchItHolds) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  size_t forward = 0, input = 0, weight = 0;
  for (const int64_t batch : {1, 2, 5, 16, 17, 40, 64}) {
    const ConvolutionSpec spec = square(batch, 20, 12, 50, 5);
    const size_t now[] = {
        make_convolution(context, spec, {.bias = true})->bytes(),
        make_convolution(context, spec, {.pass = ConvolutionPass::input_gradient, .beta = 1})->bytes(),
        make_convolution(context, spec, {.pass = ConvolutionPass::weight_gradient, .bias = true})->bytes()};
    EXPECT_GE(now[0], std::max(forward, spec.weight().bytes())) << batch;
    EXPECT_GE(now[1], std::max(input, spec.weight().bytes() +
                                          static_cast<size_t>(spec.input().shape.row().elements()) * sizeof(float)));
    EXPECT_GE(now[2], std::max(weight, 2 * spec.weight().bytes())) << batch;
    forward = now[0], input = now[1], weight = now[2];
  }
}

}  // namespace
}  // namespace millrace::testing
