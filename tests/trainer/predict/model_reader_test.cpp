#include "millrace/trainer/predict/model_reader.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "millrace/core/executor.h"
#include "millrace/core/text.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

constexpr auto kConfig = R"(
device: cpu
input:
  - synthetic: {features: 3, rows: 20}
  - batch: {batch_size: 5}
model:
  - dense: {name: first, units: 4, activation: relu, from: features}
  - dense: {name: last, units: 1, from: first}
loss: sigmoid_cross_entropy
optimizer: {sgd: {learning_rate: 0.1}}
)";

class ModelReaderTest : public ::testing::Test {
 protected:
  ModelReaderTest() : path_(folder_.path("m.safetensors")), trainer_(Trainer::from_string(kConfig, "c.yaml")) {
    trainer_.run();
    trainer_.save(path_);
  }

  TempFolder folder_;
  std::string path_;
  Trainer trainer_;
};

TEST_F(ModelReaderTest, GivesConfigurationAndValues) {
  const ModelFile file = ModelFile::read(path_);
  Config config = read_saved_config(file, std::vector<std::string>{"seed=7"}, Catalog::builtin());
  EXPECT_EQ(config.seed, 7u);
  EXPECT_EQ(names_read(config.layers), (std::vector<std::string>{"features", "first"}));
  Executor executor(1);
  Context context(Device::cpu(), executor);
  const RowSpec rows{{{"features", DType::f32, Shape{3}}}};
  const Model model = read_saved_model(file, config, rows, context);
  ASSERT_EQ(model.parameters().size(), 4u);
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    const ConstTensorView read = model.parameter(i);
    const TensorView trained = trainer_.model().parameter(i);
    ASSERT_EQ(read.spec(), trained.spec());
    EXPECT_TRUE(std::equal(read.as<float>(), read.as<float>() + read.elements(), trained.as<float>()));
  }
  // Features, a row's id, the outputs of two layers, each at a multiple of 64 bytes.
  EXPECT_EQ(batch_bytes(model, rows, 10), 10 * (64 + sizeof(RowId) + 64 + 64));
}

TEST_F(ModelReaderTest, RefusesRowsThatTheValuesDoNotFit) {
  const ModelFile file = ModelFile::read(path_);
  Config config = read_saved_config(file, {}, Catalog::builtin());
  Executor executor(1);
  Context context(Device::cpu(), executor);
  const RowSpec rows{{{"features", DType::f32, Shape{2}}}};
  EXPECT_NE(error_of<DataError>([&] {
              read_saved_model(file, config, rows, context);
            }).find("first.weight is float32 (4, 3), the model has float32 (4, 2)"),
            std::string::npos);
}

TEST_F(ModelReaderTest, OverridesAreChecked) {
  const ModelFile file = ModelFile::read(path_);
  const std::vector<std::string> overrides = {"sead=7"};
  EXPECT_NE(error_of<ConfigError>([&] { read_saved_config(file, overrides, Catalog::builtin()); }).find("seed"),
            std::string::npos);
}

}  // namespace
}  // namespace millrace
