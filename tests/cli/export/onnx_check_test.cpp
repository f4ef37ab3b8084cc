// Models of every layer, loss and op are exported, and answer in onnxruntime as they do here.
#include "millrace/cli/export/onnx_check.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "millrace/cli/reference/reference.h"
#include "millrace/core/errors.h"
#include "millrace/core/onnx/onnx_file.h"
#include "millrace/core/text.h"
#include "millrace/input/transform.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/trainer.h"
#include "tests/cli/export/onnx_python.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

constexpr const char* kEnd = "optimizer: {sgd: {learning_rate: 0.05}}\ntrain: {steps: 12, log_every: 4}\n";

class OnnxCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!use_onnx_python()) GTEST_SKIP() << "python3 has no onnx and onnxruntime: scripts/onnx-python installs them";
  }
  // The files are checked together, because loading the checker takes a second.
  void TearDown() override {
    if (made_ > 0) EXPECT_EQ(checker_messages(folder_.path()), "");
  }

  // Numbers of a normal distribution, and a label of 0 to 6 at the end. A share of the other numbers is missing.
  void write_numbers(int columns, int rows, int classes, double missing = 0.05) {
    std::mt19937 draw(7);
    std::normal_distribution<float> number;
    std::string text;
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < columns; ++column) {
        const bool lacks = std::uniform_real_distribution<>()(draw) < missing;
        text += lacks ? "," : cat(number(draw), ',');
      }
      text += cat(row % classes, '\n');
    }
    folder_.write("data.csv", text);
  }

  static std::string reader(const std::string& decode, bool header = false) {
    return cat("seed: 5\ndevice: cpu\nthreads: 1\ninput:\n  - filename_queue: {files: \"", "%", "/data.csv\"}\n",
               "  - csv_reader: {header: ", header, "}\n  - decode_csv: ", decode, '\n');
  }
  static std::string numbers(int columns) {
    return reader(cat("{fields: {features: {columns: 0-", columns - 1, ", default: 0.25}, label: {columns: ", columns,
                      "}}}")) +
           "  - batch: {batch_size: 8}\n";
  }

  // Trains the configuration, exports the model, and compares both on data.csv.
  OnnxCheck compare(std::string yaml) {
    const std::string name = cat("m", made_++);
    while (yaml.find('%') != std::string::npos) yaml.replace(yaml.find('%'), 1, folder_.path());
    const std::string file = folder_.path(name + ".safetensors"), onnx = folder_.path(name + ".onnx");
    Trainer trainer = Trainer::from_string(yaml, name + ".yaml");
    trainer.run();
    trainer.save(file);
    const OnnxModel model = onnx_model({.model = file});
    folder_.write(name + ".onnx", onnx_bytes(model.graph, {.producer = "Millrace", .version = "1"}));
    Predictor predictor({.model = file,
                         .data = {folder_.path("data.csv")},
                         .keep = columns_to_keep(model),
                         .bad_rows_stay = true});
    return check_onnx(predictor, model, onnx);
  }
  void expect_same(const std::string& yaml, uint64_t rows) {
    SCOPED_TRACE(yaml);
    try {
      const OnnxCheck check = compare(yaml);
      EXPECT_EQ(check.rows, rows);
      EXPECT_EQ(check.differ, 0u) << check_text(check) << ", first " << check.first;
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }

  TempFolder folder_;
  int made_ = 0;
};

// A layer that takes an image, or two inputs, or needs other options than its example, has lines here.
const std::multimap<std::string, std::string> kLayers = {
    {"add", "add: {from: [x, y]}"},
    {"concat", "concat: {from: [x, y], axis: -1}"},
    {"mul", "mul: {from: [x, y, z]}"},
    {"conv2d", "conv2d: {filters: 6, kernel: [3, 2], stride: [2, 1], padding: same, groups: 2, activation: gelu}"},
    {"conv2d", "conv2d: {filters: 3, kernel: 3, dilation: 2, padding: 1, bias: false, activation: relu}"},
    {"conv_transpose2d", "conv_transpose2d: {filters: 2, kernel: 2, stride: 3, padding: same}"},
    {"conv_transpose2d", "conv_transpose2d: {filters: 4, kernel: [3, 4], stride: 2, padding: 1, groups: 2, dilation: [2, 1], activation: tanh}"},
    {"avg_pool", "avg_pool: {size: 3, stride: 2, padding: same}"},
    {"avg_pool", "avg_pool: {size: [2, 3], padding: 1}"},
    {"max_pool", "max_pool: {size: 3, stride: 2, padding: same}"},
    {"global_avg_pool", "global_avg_pool"},
    {"batch_norm", "batch_norm: {epsilon: 0.01}"},
    {"group_norm", "group_norm: {groups: 2, epsilon: 0.001}"},
    {"reshape", "reshape: [2, 2, 64]"},
    {"softmax", "softmax"},
    {"scale", "scale: {bias: false}"},
    {"layer_norm", "layer_norm"},
};

std::string with_layer(const std::string& node, bool image) {
  if (node.find("from:") != std::string::npos) {
    return cat("model:\n  - dense: {units: 20, name: x, from: features}\n  - dense: {units: 20, name: y, from: features}\n",
               node.find('z') == std::string::npos ? "" : "  - dense: {units: 20, name: z, from: features}\n", "  - ", node,
               "\n  - dense: {units: 1}\nloss: sigmoid_cross_entropy\n", kEnd);
  }
  return cat("model:\n", image ? "  - reshape: [4, 8, 8]\n" : "", "  - ", node, image ? "\n  - flatten" : "",
             "\n  - dense: {units: 1}\nloss: sigmoid_cross_entropy\n", kEnd);
}

TEST_F(OnnxCheckTest, EveryLayerAgrees) {
  write_numbers(256, 40, 2);
  for (const KindInfo& kind : Catalog::builtin().layers.layers.describe()) {
    std::vector<std::string> nodes;
    for (auto [at, end] = kLayers.equal_range(kind.kind); at != end; ++at) nodes.push_back(at->second);
    if (nodes.empty()) nodes.push_back(kind_example(kind));
    for (const std::string& node : nodes) {
      bool fits = false;
      for (const bool image : {true, false}) {
        const std::string yaml = numbers(256) + with_layer(node, image);
        try {
          Trainer::from_string(with_data(yaml), "t.yaml");
        } catch (const ConfigError&) {
          continue;
        }
        fits = true;
        expect_same(yaml, 40);
      }
      EXPECT_TRUE(fits) << node << " fits no model of with_layer()";
    }
  }
}

}  // namespace
}  // namespace millrace::cli
