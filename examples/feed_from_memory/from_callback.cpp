// Trains on rows that this program makes when they are asked for, by a configuration that is written in code.
#include <millrace/millrace.h>

#include <cmath>
#include <iostream>

using millrace::Spec;

// The last 8 values of a wave, and the next one, which the model must predict.
class Wave {
 public:
  static constexpr int kValues = 8;

  // Writes as many rows as there is room for, or fewer at the end of the pass. Writing none ends the pass.
  void fill(millrace::RowBlock& rows, uint32_t pass) {
    if (pass != pass_) {
      pass_ = pass;
      made_ = 0;
    }
    rows.resize(std::min<int64_t>(rows.capacity(), kRowsOfAPass - made_));
    for (int64_t row = 0; row < rows.size(); ++row, ++made_) {
      for (int64_t i = 0; i < kValues; ++i) rows.row<float>(0, row)[i] = value(made_ + i);
      *rows.row<float>(1, row) = value(made_ + kValues);
    }
  }

 private:
  static constexpr int64_t kRowsOfAPass = 2000;

  static float value(int64_t at) { return static_cast<float>(std::sin(0.1 * static_cast<double>(at))); }

  uint32_t pass_ = 0;
  int64_t made_ = 0;  // rows of the pass so far
};

Spec config(double learning_rate) {
  return Spec::map(
      {{"seed", 23},
       {"input", Spec::list({Spec::map({{"wave", {{"epochs", 20}}}}),
                             Spec::map({{"shuffle_batch", {{"batch_size", 50}, {"min_after_dequeue", 1000}}}})})},
       {"model", Spec::list({Spec::map({{"dense", {{"units", 16}, {"activation", "tanh"}}}}),
                             Spec::map({{"dense", {{"units", 1}}}})})},
       {"loss", "mse"},
       {"optimizer", {{"adam", {{"learning_rate", learning_rate}}}}}});
}

int main() {
  try {
    Wave wave;
    millrace::CallbackRows rows;
    rows.rows = {{{"features", millrace::DType::f32, millrace::Shape{Wave::kValues}},
                  {"label", millrace::DType::f32, millrace::Shape{1}}}};
    rows.fill = [&](millrace::RowBlock& block, uint32_t pass) { wave.fill(block, pass); };

    millrace::Catalog catalog = millrace::Catalog::builtin();
    catalog.add_op("wave", millrace::callback_op(std::move(rows)));
    millrace::Trainer trainer = millrace::Trainer::from_spec(config(0.005), catalog);
    const millrace::TrainResult result = trainer.run();
    std::cout << "trained " << result.steps << " steps, loss " << result.loss << '\n';
  } catch (const millrace::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
