// Uses what an installed Millrace offers: trains, extends, predicts, and catches errors by their types.
#include <millrace/extend.h>
#include <millrace/millrace.h>

#include <iostream>
#include <thread>
#include <typeinfo>
#include <vector>

namespace {

using namespace millrace;

struct Square {
  template <class T>
  MILLRACE_HD T operator()(T x) const {
    return x * x;
  }
};
struct SquareGradient {
  template <class T>
  MILLRACE_HD T operator()(T x, T dy) const {
    return T(2) * x * dy;
  }
};

class SquareLayer final : public SimpleLayer {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "the square of every value";
  explicit SquareLayer(const Options&) {}
  void forward(Context& c, const SimpleForward& a) const override { map_elements(c, a.x, a.y, Square{}); }
  void backward(Context& c, const SimpleBackward& a) const override {
    zip_elements(c, a.x, a.dy, a.dx, SquareGradient{});
  }
};

// Gives every second row.
class Halve final : public RowBuffer {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "gives every second row";
  explicit Halve(const Options&) {}
  RowSpan pull(int64_t) override {
    const RowSpan row = input().pull(1);
    if (row) input().pull(1);
    return row;
  }
  void save(State&) const override {}
  void restore(const State&) override {}
};

constexpr auto kConfig = R"(
device: cpu
input: [{synthetic: {features: 4, rows: 400}}, halve, {normalize: {fields: features, mean: 0, std: 2}},
        {batch: {batch_size: 20}}]
model: [{dense: {units: 8}}, square, {dense: {units: 1}}]
loss: sigmoid_cross_entropy
optimizer: {sgd: {learning_rate: 0.1}}
)";

int fail(const char* what) {
  std::cerr << "consumer: " << what << '\n';
  return 1;
}

int run() {
  if (version() != MILLRACE_VERSION) return fail("the library is not of its headers' version");
  Catalog catalog = Catalog::builtin();
  catalog.add_layer<SquareLayer>("square");
  catalog.add_op<Halve>("halve");
  Trainer trainer = Trainer::from_string(kConfig, "consumer.yaml", {}, catalog);
  TrainCallbacks callbacks;
  int64_t batches = 0;
  callbacks.on_batch = [&](const BatchReport&) { ++batches; };
  const TrainResult result = trainer.run(callbacks);
  if (result.steps != 10 || batches != 10 || result.rows != 200) return fail("it did not train 10 steps");
  const Network network = trainer.network();
  std::vector<std::thread> threads;
  std::vector<float> outputs(4);
  for (size_t i = 0; i < outputs.size(); ++i) {
    threads.emplace_back([&, i] {
      const std::vector<float> row = {1, 2, 3, 4};
      outputs[i] = network.predict(row)[0];
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const float output : outputs) {
    if (output != outputs[0]) return fail("threads predict other numbers");
  }

  try {
    Trainer::from_string(kConfig, "consumer.yaml", {"optimizer.sgd.learning_rat=1"}, catalog);
    return fail("a typo was taken");
  } catch (const ConfigError& error) {
    if (error.hint().find("learning_rate") == std::string::npos) return fail("the error has no hint");
  }
  try {
    Network::load("no such file");
    return fail("a missing file was loaded");
  } catch (const IoError& error) {
    if (typeid(error) != typeid(MissingError)) return fail("the error lost its type");
  }
  std::cout << "trained " << result.steps << " steps, weights " << result.weights << '\n';
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const millrace::Error& error) {
    return fail(error.what());
  }
}
