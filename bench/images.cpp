// Where the time of a convolutional step goes: each pass of LeNet by itself, on the same executor and batch, with its
// operations and the memory that it must touch, and then the whole step. After that, forward passes as a training and
// as a prediction makes them, which calls the library for each image. See docs/performance.md.
//
//   images [ROUNDS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/budgets/compare.h"
#include "millrace/core/kernels/gemm.h"
#include "millrace/core/kernels/images/convolution.h"
#include "millrace/core/kernels/images/pooling.h"
#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/step/step.h"

namespace {

using namespace millrace;
using namespace millrace::bench;

constexpr int64_t kBatch = 64;
constexpr int kRuns = 4;  // runs of a pass between two looks at the clock

Tensor drawn(const Shape& shape) {
  Tensor tensor(Device::cpu(), {shape, DType::f32});
  float* const values = tensor.view().as<float>();
  for (int64_t i = 0; i < shape.elements(); ++i) {
    values[i] = static_cast<float>(to_unit(philox64(1, 2, static_cast<uint64_t>(i))) - 0.5);
  }
  return tensor;
}

struct Pass {
  std::string name;
  double operations = 0;  // additions and multiplications
  double bytes = 0;       // bytes that are read and written, each once
  std::function<void()> run;
  std::vector<double> seconds = {};
};

double bytes_of(std::initializer_list<int64_t> elements) {
  double bytes = 0;
  for (const int64_t count : elements) bytes += 4.0 * static_cast<double>(count);
  return bytes;
}

// Makes passes with operands of their own. Gradients of weights are added to the weights, as SGD does.
class Passes {
 public:
  explicit Passes(Context& context) : context_(context) {}

  void convolution(const std::string& name, int64_t channels, int64_t filters, int64_t size, bool first) {
    ConvolutionSpec spec{.batch = kBatch, .in_channels = channels, .out_channels = filters, .height = {}, .width = {}};
    spec.height = spec.width = {.in = size, .kernel = 5};
    Tensor &x = keep(spec.input().shape), &y = keep(spec.output().shape), &weight = keep(spec.weight().shape),
           &bias = keep(Shape{filters}), &dx = keep(spec.input().shape);
    const double operations = 2.0 * static_cast<double>(kBatch * spec.products());
    const auto all = {x.view().elements(), y.view().elements(), weight.view().elements()};
    const std::shared_ptr forward = make_convolution(context_, spec, {.bias = true});
    add(name + " forward", operations, bytes_of(all), [=, this, &x, &y, &weight, &bias] {
      forward->run(
          context_,
          {.x = x.view().data(), .weight = weight.view().data(), .bias = bias.view().data(), .y = y.view().data()});
    });
    if (!first) {
      const std::shared_ptr gradient = make_convolution(context_, spec, {.pass = ConvolutionPass::input_gradient});
      add(name + " dx", operations, bytes_of(all), [=, this, &y, &weight, &dx] {
        gradient->run(context_, {.weight = weight.view().data(), .dy = y.view().data(), .dx = {.view = dx.view()}});
      });
    }
    const std::shared_ptr gradient =
        make_convolution(context_, spec, {.pass = ConvolutionPass::weight_gradient, .bias = true});
    add(name + " dw", operations, bytes_of(all), [=, this, &x, &y, &weight, &bias] {
      gradient->run(context_, {.x = x.view().data(),
                               .dy = y.view().data(),
                               .dweight = {.view = weight.view(), .beta = 1, .alpha = &kRate},
                               .dbias = {.view = bias.view(), .beta = 1, .alpha = &kRate}});
    });
  }

  // Measures the forward pass in two ways: by tiles of images, and one image at a time.
  void both_ways(const std::string& name, int64_t channels, int64_t filters, int64_t size, int64_t kernel) {
    ConvolutionSpec spec{.batch = kBatch, .in_channels = channels, .out_channels = filters, .height = {}, .width = {}};
    spec.height = spec.width = {.in = size, .kernel = kernel};
    Tensor &x = keep(spec.input().shape), &y = keep(spec.output().shape), &weight = keep(spec.weight().shape);
    for (const bool alone : {false, true}) {
      const std::shared_ptr pass = make_convolution(context_, spec, {.images_alone = alone});
      add(name, 2.0 * static_cast<double>(kBatch * spec.products()), 0, [=, this, &x, &y, &weight] {
        pass->run(context_, {.x = x.view().data(), .weight = weight.view().data(), .y = y.view().data()});
      });
    }
  }

  void pool(const std::string& name, int64_t channels, int64_t size) {
    PoolingSpec spec{.batch = kBatch, .channels = channels, .height = {}, .width = {}};
    spec.height = spec.width = {.in = size, .kernel = 2, .stride = 2};
    Tensor &x = keep(spec.input().shape), &y = keep(spec.output().shape);
    const auto taken = std::make_shared<std::vector<int32_t>>(static_cast<size_t>(y.view().elements()));
    const auto all = {x.view().elements(), y.view().elements(), y.view().elements()};
    add(name + " forward", 0, bytes_of(all),
        [=, this, &x, &y] { max_pool(context_, spec, x.view(), y.view(), taken->data()); });
    add(name + " dx", 0, bytes_of(all),
        [=, this, &x, &y] { pool_gradient(context_, spec, taken->data(), y.view(), {.view = x.view()}); });
  }

  void dense(const std::string& name, int64_t in, int64_t out) {
    product(name + " forward", {.m = kBatch, .n = out, .k = in, .transpose_b = true, .bias = true});
    product(name + " dx", {.m = kBatch, .n = in, .k = out});
    product(name + " dw", {.m = out, .n = in, .k = kBatch, .transpose_a = true, .beta = 1});
  }

  void product(const std::string& name, const GemmSpec& spec) {
    Tensor &a = keep(Shape{spec.m, spec.k}), &b = keep(Shape{spec.k, spec.n}), &c = keep(Shape{spec.m, spec.n}),
           &bias = keep(Shape{spec.n});
    const std::shared_ptr gemm = make_gemm(context_, spec);
    add(name, 2.0 * static_cast<double>(spec.m * spec.n * spec.k),
        bytes_of({a.view().elements(), b.view().elements(), c.view().elements()}), [=, this, &a, &b, &c, &bias] {
          gemm->run(context_, {a.view().data(), b.view().data(), c.view().data(),
                               spec.bias ? bias.view().data() : nullptr, spec.beta == 0 ? nullptr : &kRate});
        });
  }

  std::vector<Pass>& all() { return passes_; }

 private:
  // So small that adding to values does not change them.
  static constexpr float kRate = 1e-20F;

  Tensor& keep(const Shape& shape) { return *tensors_.emplace_back(std::make_unique<Tensor>(drawn(shape))); }
  void add(const std::string& name, double operations, double bytes, const std::function<void()>& run) {
    passes_.push_back({name, operations, bytes, run});
  }

  Context& context_;
  std::vector<std::unique_ptr<Tensor>> tensors_;
  std::vector<Pass> passes_;
};

// The step of bench/peers/lenet.yaml on one batch.
class LeNet {
 public:
  explicit LeNet(Context& context)
      : config_(read_config(read_yaml_file("bench/peers/lenet.yaml"), Catalog::builtin())),
        model_(Model::build(
            {.layers = std::move(config_.layers), .inputs = {{"features", {{784}, DType::f32}}}, .seed = 23}, context)),
        step_(TrainStep::make({.model = model_,
                               .context = context,
                               .loss = *config_.loss.loss,
                               .optimizer = *config_.optimizer,
                               .rows = rows_})) {
    step_->prepare(kBatch);
    batch_.configure(rows_, kBatch);
    batch_.resize(kBatch);
    for (int64_t row = 0; row < kBatch; ++row) {
      for (int64_t i = 0; i < 784; ++i) {
        batch_.row<float>(0, row)[i] =
            static_cast<float>(to_unit(philox64(1, 2, static_cast<uint64_t>(row * 784 + i))));
      }
      batch_.row<int32_t>(1, row)[0] = static_cast<int32_t>(row % 10);
    }
  }

  void step() { step_->run(batch_); }

 private:
  Config config_;
  RowSpec rows_{{{"features", DType::f32, {784}}, {"label", DType::i32, {1}}}};
  Model model_;
  std::unique_ptr<TrainStep> step_;
  RowBlock batch_;
};

void print(int threads, int rounds) {
  Executor executor(threads);
  Context context(Device::cpu(), executor);
  Passes passes(context);
  passes.convolution("conv2d", 1, 20, 28, true);
  passes.pool("max_pool", 20, 24);
  passes.convolution("conv2d_2", 20, 50, 12, false);
  passes.pool("max_pool_2", 50, 8);
  passes.dense("dense", 800, 500);
  passes.dense("dense_2", 500, 10);
  const size_t own = passes.all().size();
  // The others are compared with this product.
  passes.product("1024 x 1024 x 1024", {.m = 1024, .n = 1024, .k = 1024});
  const size_t ways = passes.all().size();
  passes.both_ways("1 -> 20, 5 x 5, of 28 x 28", 1, 20, 28, 5);
  passes.both_ways("20 -> 50, 5 x 5, of 12 x 12", 20, 50, 12, 5);
  passes.both_ways("64 -> 64, 3 x 3, of 16 x 16", 64, 64, 16, 3);
  passes.both_ways("64 -> 128, 1 x 1, of 14 x 14", 64, 128, 14, 1);
  passes.both_ways("1 -> 16, 3 x 3, of 8 x 8", 1, 16, 8, 3);
  const size_t ways_end = passes.all().size();
  LeNet lenet(context);
  passes.all().push_back({"step", 0, 0, [&] { lenet.step(); }});

  for (int round = 0; round <= rounds; ++round) {
    for (Pass& pass : passes.all()) {
      const double seconds = timed(wall_seconds, [&] {
        executor.run([&] {
          for (int i = 0; i < kRuns; ++i) pass.run();
        });
      });
      if (round > 0) pass.seconds.push_back(seconds / kRuns);
    }
  }

  const auto rate_of = [](const Pass& pass) { return 1e-9 * pass.operations / median(pass.seconds); };
  const double rate = rate_of(passes.all()[own]);
  std::printf("%s: a product of 1024 x 1024 x 1024 reaches %.0f GFLOP/s.\n\n", count_of(threads, "thread").c_str(),
              rate);
  std::puts("| pass | MFLOP | MB | us | GFLOP/s | of the product's |\n|---|---|---|---|---|---|");
  double seconds = 0, operations = 0;
  for (size_t i = 0; i < own; ++i) {
    const Pass& pass = passes.all()[i];
    seconds += median(pass.seconds);
    operations += pass.operations;
    std::printf("| %s | %.1f | %.2f | %.0f | ", pass.name.c_str(), 1e-6 * pass.operations, 1e-6 * pass.bytes,
                1e6 * median(pass.seconds));
    if (pass.operations > 0)
      std::printf("%.0f | %.0f %% |\n", rate_of(pass), 100 * rate_of(pass) / rate);
    else
      std::puts("| |");
  }
  const double step = median(passes.all().back().seconds);
  std::printf("| all of these | %.0f | | %.0f | %.0f | %.0f %% |\n", 1e-6 * operations, 1e6 * seconds,
              1e-9 * operations / seconds, 1e-7 * operations / seconds / rate);
  std::printf("| the step | %.0f | | %.0f | %.0f | %.0f %% |\n\n", 1e-6 * operations, 1e6 * step,
              1e-9 * operations / step, 1e-7 * operations / step / rate);

  std::puts("| forward pass | us an image | alone | ratio |\n|---|---|---|---|");
  for (size_t i = ways; i < ways_end; i += 2) {
    const double together = median(passes.all()[i].seconds), alone = median(passes.all()[i + 1].seconds);
    std::printf("| %s | %.2f | %.2f | %.2f |\n", passes.all()[i].name.c_str(), 1e6 * together / kBatch,
                1e6 * alone / kBatch, alone / together);
  }
  std::puts("");
}

}  // namespace

int main(int count, char** words) {
  const int rounds = count > 1 ? std::max(1, std::atoi(words[1])) : 15;
  try {
    for (const int threads : {1, 2}) print(threads, rounds);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "images: %s\n", error.what());
    return 1;
  }
  return 0;
}
