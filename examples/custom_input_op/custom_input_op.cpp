// A program with input ops of its own: writes points as binary records and as lines of text, then checks and trains on
// each.
#include <millrace/millrace.h>
#include <millrace/testing.h>

#include <cstdint>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "decode_libsvm.h"
#include "measurement_reader.h"

constexpr auto kRecords = R"(
input:
  - filename_queue: {files: "points-*.bin", epochs: 20}
  - measurement_reader: {header_bytes: 4, fields: {label: {type: uint8}, features: {type: float32, values: 2}}}
  - shuffle_batch: {batch_size: 50, capacity: 1000, min_after_dequeue: 500}
)";

constexpr auto kLines = R"(
input:
  - filename_queue: {files: "points-*.svm", epochs: 20}
  - csv_reader: {quote: none}
  - decode_libsvm: {features: 2}
  - shuffle_batch: {batch_size: 50, capacity: 1000, min_after_dequeue: 500}
)";

constexpr auto kModel = R"(
seed: 23
model:
  - dense: {units: 16, activation: tanh}
  - dense: {units: 1}
loss: sigmoid_cross_entropy
metrics: [accuracy]
optimizer: {adam: {learning_rate: 0.01}}
train: {report_over: window, log_every: 200}
)";

// Points, and whether they lie in a circle. Binary: four bytes, then records of a byte and two floats.
void write_points(const std::string& name, uint32_t seed) {
  std::ofstream binary(name + ".bin", std::ios::binary), text(name + ".svm");
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> place(-1, 1);
  binary.write("MLPT", 4);
  for (int i = 0; i < 1000; ++i) {
    const float point[2] = {place(random), place(random)};
    const bool inside = point[0] * point[0] + point[1] * point[1] < 0.5f;
    binary.put(inside ? 1 : 0);
    binary.write(reinterpret_cast<const char*>(point), sizeof point);
    text << (inside ? 1 : 0) << " 1:" << point[0] << " 2:" << point[1] << '\n';
  }
}

void check(const std::string& config, const millrace::Catalog& catalog) {
  const millrace::Spec whole = millrace::parse_yaml(config, "config");
  const millrace::RestoreCheck check = millrace::check_restore(*whole.find("input"), catalog.ops);
  std::cout << "saved and restored: " << (check.difference.empty() ? "the same rows" : check.difference) << '\n';
}

void train(const std::string& config, const millrace::Catalog& catalog) {
  millrace::Trainer trainer = millrace::Trainer::from_string(config, "config", {}, catalog);
  const millrace::TrainResult result = trainer.run();
  std::cout << "trained " << result.steps << " steps on " << result.rows << " rows, loss " << result.loss << '\n';

  const millrace::Network network = trainer.network();
  for (const std::vector<float>& point : {std::vector<float>{0.1f, 0.2f}, {0.9f, -0.8f}}) {
    std::cout << "(" << point[0] << ", " << point[1] << "): " << (network.predict(point)[0] > 0 ? "in" : "out") << '\n';
  }
}

int main() {
  try {
    write_points("points-0", 1);
    write_points("points-1", 2);

    millrace::Catalog catalog = millrace::Catalog::builtin();
    catalog.add_op<MeasurementReader>("measurement_reader");
    catalog.add_op<DecodeLibsvm>("decode_libsvm");
    for (const char* input : {kRecords, kLines}) {
      check(input, catalog);
      train(std::string(kModel) + input, catalog);
    }
  } catch (const millrace::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
