#include "millrace/trainer/predict/model_reader.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/executor.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/yaml.h"
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

  static Spec heeds_seed(const Config& config) { return heeded_of(config, {}, {"seed"}); }

  TempFolder folder_;
  std::string path_;
  Trainer trainer_;
};

TEST_F(ModelReaderTest, GivesConfigurationAndValues) {
  const ModelFile file = ModelFile::read(path_);
  const std::vector<std::string> overrides = {"seed=7"};
  Config config = read_saved_config(file, {.overrides = overrides, .heeded = heeds_seed}, Catalog::builtin());
  EXPECT_EQ(config.seed, 7u);
  using Names = std::vector<std::string>;
  const PassArgs predicted = pass_for(config, config.input, Catalog::builtin().ops, false);
  EXPECT_EQ(predicted.wanted, (Names{"features", "first"}));
  EXPECT_EQ(predicted.unwanted, Names{"label"});
  const PassArgs judged = pass_for(config, config.input, Catalog::builtin().ops, true);
  EXPECT_EQ(judged.wanted, (Names{"features", "first", "label"}));
  EXPECT_TRUE(judged.unwanted.empty());
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
  EXPECT_EQ(batch_bytes(model, rows, 10, 3), 10 * (3 * (64 + sizeof(RowId)) + 64 + 64));
  // Bytes become numbers on their way.
  const RowSpec bytes{{{"features", DType::u8, Shape{3}}}};
  EXPECT_EQ(batch_bytes(model, bytes, 10, 3), 10 * (3 * (64 + sizeof(RowId)) + 64 + 64 + 64));
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
  const SavedConfigArgs args = {.overrides = overrides, .heeded = heeds_seed};
  EXPECT_NE(error_of<ConfigError>([&] { read_saved_config(file, args, Catalog::builtin()); }).find("seed"),
            std::string::npos);
}

TEST_F(ModelReaderTest, AnOverrideThatNobodyHeedsIsAnError) {
  const ModelFile file = ModelFile::read(path_);
  std::vector<std::string> overrides = {"seed=7"};
  EXPECT_EQ(read_saved_config(file, {.overrides = overrides, .heeded = heeds_seed}, Catalog::builtin()).seed, 7u);
  overrides.emplace_back("train.steps=3");
  const SavedConfigArgs args = {.overrides = overrides, .heeded = heeds_seed, .hint = "leave it out"};
  EXPECT_EQ(error_of<ConfigError>([&] { read_saved_config(file, args, Catalog::builtin()); }),
            "--set train.steps=3: the setting changes nothing here; leave it out");
}

FieldHistory history_of(const std::string& ops, const std::string& loss = "mse") {
  const Config config = read_config(
      parse_yaml(cat("input:\n  - filename_queue: {files: none.csv}\n  - csv_reader\n  - decode_csv: {fields: {label: "
                     "{columns: 0}}}\n",
                     ops, "  - batch: {batch_size: 1}\nmodel: [{dense: {units: 1}}]\nloss: ", loss,
                     "\noptimizer: {sgd: {learning_rate: 1}}\n"),
                 "c.yaml"),
      Catalog::builtin());
  return label_history(config, config.input, Catalog::builtin().ops);
}

TEST(LabelHistory, UndoesNormalizeAndMapFromTheLastToTheFirst) {
  const FieldHistory plain = history_of("");
  EXPECT_EQ(plain.field, "label");
  EXPECT_EQ(plain.scale, std::vector<double>{1});
  const FieldHistory once = history_of("  - normalize: {fields: label, mean: 10, std: 4}\n");
  EXPECT_EQ(once.scale, std::vector<double>{4});
  EXPECT_EQ(once.offset, std::vector<double>{10});
  // (2 x + 1 - 10) / 4 = y, so x = (4 y + 10 - 1) / 2
  const FieldHistory both = history_of(
      "  - map: {field: price, scale: 2, offset: 1, as: label}\n  - normalize: {fields: label, mean: 10, std: 4}\n");
  EXPECT_EQ(both.field, "price");
  EXPECT_EQ(both.scale, std::vector<double>{2});
  EXPECT_EQ(both.offset, std::vector<double>{4.5});
  const FieldHistory columns = history_of("  - normalize: {fields: label, mean: [1, 2], std: 3}\n");
  EXPECT_EQ(columns.scale, (std::vector<double>{3, 3}));
  EXPECT_EQ(columns.offset, (std::vector<double>{1, 2}));
}

TEST(LabelHistory, SaysWhereItIsNotKnown) {
  EXPECT_FALSE(history_of("  - normalize: {fields: [x, label], mean: [1, 2], std: 3}\n").complete);
  EXPECT_TRUE(history_of("  - normalize: {fields: [x, label], mean: 1, std: 3}\n").complete);
  EXPECT_FALSE(history_of("  - map: {field: label, scale: 0}\n").complete);
}

TEST(LabelHistory, FindsTheTextsOfClasses) {
  const FieldHistory history =
      history_of("  - vocabulary: {field: kind, texts: [a, b], as: label}\n", "softmax_cross_entropy");
  EXPECT_EQ(history.texts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(history.field, "kind");
}

}  // namespace
}  // namespace millrace
