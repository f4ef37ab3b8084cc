// Trains on rows that this program holds.
#include <millrace/millrace.h>

#include <iostream>
#include <memory>
#include <utility>

constexpr auto kConfig = R"(
input:
  - memory: {epochs: 50}
  - shuffle_batch: {batch_size: 20, capacity: 400, min_after_dequeue: 200}
model:
  - dense: {units: 8, activation: tanh}
  - dense: {units: 1}
loss: sigmoid_cross_entropy
metrics: [accuracy]
optimizer: {adam: {learning_rate: 0.01}}
)";

int main() {
  try {
    // Points of a square, and whether they lie above its diagonal.
    millrace::RowBlock rows;
    rows.configure(
        {{{"features", millrace::DType::f32, millrace::Shape{2}}, {"label", millrace::DType::f32, millrace::Shape{1}}}},
        400);
    rows.resize(400);
    for (int row = 0; row < 400; ++row) {
      const int x = row % 20, y = row / 20;
      rows.row<float>(0, row)[0] = static_cast<float>(x) / 20;
      rows.row<float>(0, row)[1] = static_cast<float>(y) / 20;
      *rows.row<float>(1, row) = y > x ? 1 : 0;
    }

    millrace::Catalog catalog = millrace::Catalog::builtin();
    catalog.add_op("memory", millrace::memory_op(std::make_shared<const millrace::RowBlock>(std::move(rows))));
    millrace::Trainer trainer = millrace::Trainer::from_string(kConfig, "memory.yaml", {}, catalog);
    const millrace::TrainResult result = trainer.run();
    std::cout << "trained " << result.steps << " steps, loss " << result.loss << '\n';
  } catch (const millrace::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
