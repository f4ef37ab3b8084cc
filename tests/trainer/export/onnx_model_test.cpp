#include "millrace/trainer/export/onnx_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

class Cube final : public Layer {
 public:
  static constexpr std::string_view kDoc = "nothing";
  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder&) override { return inputs[0]; }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs&) const override { return nullptr; }
};

class OnnxModelTest : public ::testing::Test {
 protected:
  std::string train(const std::string& model) const {
    folder_.write("a.csv", "1,2,0\n3,4,1\n5,6,1\n");
    Trainer trainer = Trainer::from_string(
        cat("device: cpu\nthreads: 1\ninput:\n- filename_queue: {files: ", quote(folder_.path("a.csv"), 4096),
            "}\n- csv_reader\n- decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2}}}\n- batch: "
            "{batch_size: 3}\nmodel:\n",
            model, "loss: mse\noptimizer: {sgd: {learning_rate: 0.01}}\ntrain: {steps: 1}\n"),
        "t.yaml");
    trainer.run();
    const std::string file = folder_.path("m.safetensors");
    trainer.save(file);
    return file;
  }

  TempFolder folder_;
};

TEST_F(OnnxModelTest, ConstantsHaveTheNamesAndTheValuesOfTheParameters) {
  const OnnxModel model = onnx_model({.model = train("- dense: {units: 1}\n")});
  const auto found = std::ranges::find_if(model.graph.constants(), [&](const OnnxGraph::Constant& constant) {
    return model.graph.name(constant.value) == "dense/weight";
  });
  ASSERT_NE(found, model.graph.constants().end());
  EXPECT_EQ(found->shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(found->bytes.size(), 2 * sizeof(float));
  EXPECT_EQ(model.config_hash.size(), 64u);
  EXPECT_EQ(model.text_inputs.size(), 1u);
}

TEST_F(OnnxModelTest, ALayerWithoutNodesIsNamed) {
  const std::string file = train("- relu\n- dense: {units: 1}\n");
  const Catalog builtin = Catalog::builtin();
  Catalog catalog = builtin;
  catalog.layers.layers = LayerRegistry("layer");
  for (const auto& [kind, entry] : builtin.layers.layers.entries()) {
    if (kind != "relu") catalog.layers.layers.add(kind, entry);
  }
  catalog.add_layer<Cube>("relu");
  try {
    onnx_model({.model = file}, catalog);
    FAIL() << "exported";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.message(), "layer relu: it cannot be written as ONNX");
    EXPECT_TRUE(error.place().text().starts_with(file + ":config:")) << error.place().text();
  }
}

}  // namespace
}  // namespace millrace
