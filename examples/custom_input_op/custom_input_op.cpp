// An input op of this program: writes a binary file, then trains on it.
#include <millrace/millrace.h>

#include <cstdint>
#include <fstream>
#include <iostream>
#include <random>
#include <vector>

#include "record_reader.h"

constexpr auto kConfig = R"(
seed: 23
input:
  - filename_queue: {files: "points-*.bin", epochs: 20}
  - record_reader: {header_bytes: 4, fields: {label: {type: uint8}, features: {type: float32, values: 2}}}
  - shuffle_batch: {batch_size: 50, capacity: 1000, min_after_dequeue: 500}
model:
  - dense: {units: 16, activation: tanh}
  - dense: {units: 1}
loss: sigmoid_cross_entropy
metrics: [accuracy]
optimizer: {adam: {learning_rate: 0.01}}
train: {report_over: window, log_every: 200}
)";

// Four bytes, then records of a byte and two floats: whether a point lies in a circle, and where it lies.
void write_points(const char* path, uint32_t seed) {
  std::ofstream file(path, std::ios::binary);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> place(-1, 1);
  file.write("MLPT", 4);
  for (int i = 0; i < 1000; ++i) {
    const float point[2] = {place(random), place(random)};
    file.put(point[0] * point[0] + point[1] * point[1] < 0.5f ? 1 : 0);
    file.write(reinterpret_cast<const char*>(point), sizeof point);
  }
}

int main() {
  try {
    write_points("points-0.bin", 1);
    write_points("points-1.bin", 2);

    millrace::Catalog catalog = millrace::Catalog::builtin();
    catalog.add_op<RecordReader>("record_reader");
    millrace::Trainer trainer = millrace::Trainer::from_string(kConfig, "config", {}, catalog);
    const millrace::TrainResult result = trainer.run();
    std::cout << "trained " << result.steps << " steps on " << result.rows << " rows, loss " << result.loss << '\n';

    const millrace::Network network = trainer.network();
    for (const std::vector<float>& point : {std::vector<float>{0.1f, 0.2f}, {0.9f, -0.8f}}) {
      std::cout << "(" << point[0] << ", " << point[1] << "): " << (network.predict(point)[0] > 0 ? "in" : "out")
                << '\n';
    }
  } catch (const millrace::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
