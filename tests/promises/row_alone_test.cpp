// P8: on the CPU the answer for a row depends on that row only, not on the rows beside it.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "millrace/core/random.h"
#include "millrace/layers/model/model_plan.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/predict/network.h"
#include "tests/layers/model/build_model.h"
#include "tests/promises/training.h"

namespace millrace {
namespace {

using namespace millrace::testing;

constexpr int64_t kPool = 1000;

// A model of a few layers; `row` is the shape of the field that it reads.
struct Case {
  std::vector<std::string> layers;
  Shape row = {37};
};

// Cases for each kind of layer. Sizes are odd, so that loops and tiles have rests.
std::map<std::string, std::vector<Case>> cases() {
  const Shape image = {3, 9, 7};
  const auto each_value = [&](const std::string& kind) { return std::vector<Case>{{{kind}}, {{kind}, image}}; };
  std::map<std::string, std::vector<Case>> out = {
      {"add", {{{"{dense: {units: 37}, name: d}", "{add: {}, from: [features, d]}"}}}},
      {"avg_pool", {{{"avg_pool: {size: 3, stride: 2}"}, image}}},
      {"batch_norm", {{{"batch_norm"}}, {{"batch_norm"}, image}}},
      {"concat", {{{"{dense: {units: 5}, name: d}", "{concat: {}, from: [features, d]}"}}}},
      {"conv2d",
       {{{"conv2d: {filters: 11, kernel: 3, padding: same, activation: relu}"}, image},
        {{"conv2d: {filters: 6, kernel: 3, stride: 2, groups: 3, activation: tanh}"}, image},
        {{"conv2d: {filters: 33, kernel: 1, bias: false}"}, {16, 2, 3}},
        {{"conv2d: {filters: 7, kernel: 5, activation: relu}", "conv2d: {filters: 9, kernel: 3}"}, {1, 11, 11}}}},
      {"conv_transpose2d",
       {{{"conv_transpose2d: {filters: 8, kernel: 4, stride: 2, padding: same}"}, image},
        {{"conv_transpose2d: {filters: 3, kernel: 3, groups: 3}"}, image}}},
      {"dense",
       {{{"dense: {units: 5, activation: relu}"}},
        {{"dense: {units: 1}"}},
        {{"dense: {units: 64, activation: tanh}", "dense: {units: 10, bias: false}"}, {28}},
        {{"dense: {units: 130, activation: gelu}"}, {1}},
        {{"dense: {units: 140, activation: relu}", "dense: {units: 1}"}, {140}}}},
      {"dropout", each_value("dropout: 0.5")},
      {"flatten", {{{"flatten"}, image}}},
      {"global_avg_pool", {{{"global_avg_pool"}, image}}},
      {"group_norm", {{{"group_norm: {groups: 3}"}, image}}},
      {"layer_norm", {{{"layer_norm"}}, {{"layer_norm"}, image}}},
      {"max_pool", {{{"max_pool: {size: 3, stride: 2}"}, image}}},
      {"mul", {{{"{dense: {units: 37}, name: d}", "{mul: {}, from: [features, d]}"}}}},
      {"reshape", {{{"reshape: {shape: [3, 4, 3]}"}, {36}}}},
      {"scale", {{{"scale"}}, {{"scale"}, image}}},
      {"softmax", {{{"softmax"}}, {{"softmax"}, image}}},
  };
  for (const char* kind : {"elu", "gelu", "leaky_relu", "relu", "sigmoid", "tanh"}) out[kind] = each_value(kind);
  return out;
}

std::vector<LayerNode> nodes_of(const Case& of, const LayerCatalog& catalog) {
  std::vector<LayerNode> nodes;
  for (const std::string& text : of.layers) {
    Spec line = parse_yaml(text, "row_alone.yaml");
    LayerNode node;
    if (line.is_map() && line.find("name") != nullptr) node.name = line.find("name")->as_string();
    if (line.is_map() && line.find("from") != nullptr) {
      for (const Spec& from : line.find("from")->items()) node.from.push_back(from.as_string());
    }
    if (line.is_map()) line = Spec::map().set(line.entries()[0].first, line.entries()[0].second);
    const KindAndOptions read = catalog.layers.read(line, "a layer");
    node.kind = read.kind;
    node.layer = catalog.layers.make(read, line);
    node.spec = line;
    nodes.push_back(std::move(node));
  }
  return nodes;
}

// Value `column` of row `row` of the pool.
double drawn(int64_t row, int64_t column) {
  return 4 * to_unit(philox64(3, static_cast<uint64_t>(row), static_cast<uint64_t>(column))) - 2;
}

// The bytes of the outputs for rows of the pool, which go through the model together.
std::vector<std::string> outputs_of(const Case& of, DType dtype, int threads, const std::vector<int64_t>& rows) {
  const LayerCatalog catalog = LayerCatalog::builtin();
  Executor executor(threads);
  Context context(Device::cpu(), executor);
  const Model model = Model::build(
      {.layers = nodes_of(of, catalog), .inputs = {{"features", {of.row, dtype}}}, .seed = 23, .dtype = dtype},
      context);
  Tensor features(Device::cpu(), {of.row.with_batch(std::ssize(rows)), dtype});
  const TensorView view = features.view();
  dispatch_float(dtype, [&]<class T>() {
    for (int64_t i = 0; i < view.rows(); ++i) {
      for (int64_t j = 0; j < view.columns(); ++j) {
        view.as<T>()[i * view.stride() + j] = static_cast<T>(drawn(rows[static_cast<size_t>(i)], j));
      }
    }
  });
  const TensorView shapes[] = {view};
  ModelPlan plan(model, context, {.inputs = shapes, .mode = Mode::predict});
  const uint64_t step = 0;
  const ConstTensorView inputs[] = {view};
  plan.forward(context, inputs, &step);
  const ConstTensorView output = plan.output();
  std::vector<std::string> out;
  for (int64_t i = 0; i < output.rows(); ++i) {
    out.emplace_back(static_cast<const char*>(output.data()) + static_cast<size_t>(i) * output.row_bytes(),
                     static_cast<size_t>(output.columns()) * size_of(dtype));
  }
  return out;
}

void expect_rows_alone(const Case& of, DType dtype) {
  std::vector<int64_t> all(kPool);
  std::iota(all.begin(), all.end(), 0);
  const std::vector<std::string> expected = outputs_of(of, dtype, 1, all);
  std::vector<int64_t> turned = all;
  std::rotate(turned.begin(), turned.begin() + 13, turned.end());
  const std::vector<std::vector<int64_t>> batches = {
      {0}, {1}, {777}, {999}, {3, 4, 5, 6, 7, 8, 9}, {9, 999, 7, 6, 1, 4, 3}, turned};
  for (const int threads : {1, 3}) {
    for (const std::vector<int64_t>& rows : batches) {
      const std::vector<std::string> got = outputs_of(of, dtype, threads, rows);
      for (size_t i = 0; i < rows.size(); ++i) {
        ASSERT_TRUE(got[i] == expected[static_cast<size_t>(rows[i])])
            << "row " << rows[i] << " is row " << i << " of " << rows.size() << ", " << threads << " threads, "
            << to_string(dtype);
      }
    }
  }
}

TEST(RowAlone, HoldsForEveryLayer) {
  const std::map<std::string, std::vector<Case>> of_kind = cases();
  for (const std::string& kind : LayerCatalog::builtin().layers.kinds()) {
    const auto found = of_kind.find(kind);
    if (found == of_kind.end()) {
      ADD_FAILURE() << "write cases for the layer " << kind;
      continue;
    }
    for (const Case& of : found->second) {
      for (const DType dtype : {DType::f32, DType::f64}) {
        SCOPED_TRACE(cat(kind, ", ", of.layers[0], ", row ", of.row.text()));
        expect_rows_alone(of, dtype);
      }
    }
  }
}

// A training from CSV files, and everything that predicts with its model.
class RowAloneModel : public ::testing::Test {
 protected:
  RowAloneModel() {
    write_data(folder_);
    Trainer trainer = make_trainer(folder_);
    trainer.run();
    trainer.save(model_);
  }

  std::vector<float> predicted(const std::vector<std::string>& overrides) const {
    std::vector<float> out;
    Predictor predictor({.model = model_, .data = {folder_.path("part-*.csv")}, .overrides = overrides});
    while (const RowBlock* batch = predictor.next()) {
      for (int64_t row = 0; row < batch->size(); ++row) out.push_back(predictor.output(row)[0]);
    }
    return out;
  }

  // The features of all rows, in the order of the files.
  std::vector<float> features() const {
    std::vector<float> out;
    Predictor predictor({.model = model_, .data = {folder_.path("part-*.csv")}});
    while (const RowBlock* batch = predictor.next()) {
      const size_t field = static_cast<size_t>(batch->spec().find("features"));
      for (int64_t row = 0; row < batch->size(); ++row) {
        const std::span<const float> values(batch->row<float>(field, row), 6);
        out.insert(out.end(), values.begin(), values.end());
      }
    }
    return out;
  }

  TempFolder folder_;
  const std::string model_ = folder_.path("m.safetensors");
};

TEST_F(RowAloneModel, BatchesAndThreadsOfAPredictorDoNotMatter) {
  const std::vector<float> expected = predicted({});
  EXPECT_EQ(expected.size(), static_cast<size_t>(kFiles * kRows));
  for (const int batch : {1, 7, 100}) {
    for (const int threads : {1, 3}) {
      EXPECT_EQ(predicted({cat("input.shuffle_batch.batch_size=", batch), cat("threads=", threads)}), expected)
          << batch << " rows, " << threads << " threads";
    }
  }
}

TEST_F(RowAloneModel, ANetworkGivesWhatAPredictorGivesHoweverManyRowsItIsGiven) {
  const std::vector<float> expected = predicted({}), values = features();
  for (const int threads : {1, 3}) {
    const Network network = Network::load(model_, {.threads = threads});
    for (const size_t rows : {size_t{1}, size_t{7}, expected.size()}) {
      std::vector<float> got;
      for (size_t begin = 0; begin < expected.size(); begin += rows) {
        const size_t count = std::min(rows, expected.size() - begin);
        for (const float output : network.predict(std::span(values).subspan(6 * begin, 6 * count))) {
          got.push_back(output);
        }
      }
      EXPECT_EQ(got, expected) << rows << " rows a call, " << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace millrace
