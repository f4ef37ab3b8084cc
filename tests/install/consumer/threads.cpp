// Two trainings at once with a layer and rows of this program, and eight threads that predict.
#include <millrace/extend.h>
#include <millrace/millrace.h>

#include <array>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace millrace;

struct Double {
  template <class T>
  MILLRACE_HD T operator()(T x) const {
    return x + x;
  }
  template <class T>
  MILLRACE_HD T operator()(T, T dy) const {
    return dy + dy;
  }
};

class DoubleLayer final : public SimpleLayer {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "twice every value";
  explicit DoubleLayer(const Options&) {}
  void forward(Context& c, const SimpleForward& a) const override { map_elements(c, a.x, a.y, Double{}); }
  void backward(Context& c, const SimpleBackward& a) const override { zip_elements(c, a.x, a.dy, a.dx, Double{}); }
};

Trainer make_trainer(int number) {
  Catalog catalog = Catalog::builtin();
  catalog.layers.layers.add<DoubleLayer>("double");
  auto made = std::make_shared<int>(0);
  catalog.ops.add("numbers",
                  callback_op({.rows = {{{"features", DType::f32, Shape{64}}, {"label", DType::f32, Shape{1}}}},
                               .fill =
                                   [made](RowBlock& block, uint32_t) {
                                     block.resize(*made < 4000 ? 100 : 0);
                                     for (int64_t row = 0; row < block.size(); ++row, ++*made) {
                                       for (int i = 0; i < 64; ++i) {
                                         block.row<float>(0, row)[i] = static_cast<float>((*made * 7 + i) % 13);
                                       }
                                       *block.row<float>(1, row) = static_cast<float>(*made % 2);
                                     }
                                   },
                               .rows_at_once = 100}));
  return Trainer::from_string("device: cpu\nthreads: 3\nseed: " + std::to_string(number) +
                                  "\ninput: [numbers, {normalize: {fields: features, mean: 6, std: 4}},\n"
                                  "        {shuffle_batch: {batch_size: 200, capacity: 900, min_after_dequeue: 500}}]\n"
                                  "model: [{dense: {units: 300}}, double, {dense: {units: 1}}]\n"
                                  "loss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.01}}\n",
                              "threads.yaml", {}, catalog);
}

int run() {
  std::array<std::string, 2> weights;
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<Network>> networks(2);
  for (size_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      Trainer trainer = make_trainer(static_cast<int>(i));
      TrainCallbacks callbacks;
      int64_t rows = 0;
      callbacks.on_batch = [&](const BatchReport& report) { rows += report.rows; };
      weights[i] = trainer.run(callbacks).weights;
      networks[i] = std::make_unique<Network>(trainer.network());
    });
  }
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  const std::vector<float> row(64, 3);
  std::vector<float> outputs(8);
  for (size_t i = 0; i < outputs.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 200; ++k) outputs[i] = networks[i % 2]->predict(row)[0];
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 2; i < outputs.size(); ++i) {
    if (outputs[i] != outputs[i % 2]) return 1;
  }
  std::cout << "trained two models, " << weights[0].size() + weights[1].size() << " letters of weights\n";
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const millrace::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
