#include "millrace/trainer/config/config_nodes.h"

#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/fake_kinds.h"

namespace millrace {
namespace {

std::string layer_error(const std::string& list) {
  return error_of<ConfigError>([&] {
    Spec resolved;
    read_layers(parse_yaml(list, "f"), fake_catalog().layers.layers, resolved);
  });
}

TEST(ConfigNodes, NodeKeysAndOwnKeysAreSoughtTogether) {
  EXPECT_EQ(layer_error("- dense: {units: 1, nmae: x}"), "f:1:21: [0].dense: unknown key nmae; did you mean name?");
  EXPECT_EQ(layer_error("- dense: {units: 1, form: x}"), "f:1:21: [0].dense: unknown key form; did you mean from?");
  EXPECT_EQ(layer_error("- dense: {unit: 1}"), "f:1:11: [0].dense: unknown key unit; did you mean units?");
  EXPECT_EQ(layer_error("- dense: {size: 1}"),
            "f:1:11: [0].dense: unknown key size; the keys here are units, activation, from and name");
  EXPECT_EQ(layer_error("- relu: {probability: 1}"),
            "f:1:10: [0].relu: unknown key probability; the keys here are from and name");
}

TEST(ConfigNodes, LayersAreChecked) {
  EXPECT_EQ(layer_error("- dense"), "f:1:3: [0]: the key units is required (integer); units: outputs of a row");
  EXPECT_EQ(layer_error("- dense: {units: 1, name: [a]}"), "f:1:27: [0].dense.name: expected a text, got a list");
  EXPECT_EQ(layer_error("- dense: {units: 1, from: []}"),
            "f:1:3: [0]: from names nothing; leave it out to read the layer before");
  EXPECT_EQ(layer_error("- relu\n- dens"), "f:2:3: [1]: unknown layer \"dens\"; did you mean dense?");
  EXPECT_EQ(
      layer_error("- conv"),
      "f:1:3: [0]: unknown layer \"conv\"; known: dense and relu; plug-ins (--plugin FILE) and programs add others");
  EXPECT_EQ(layer_error("[]"), "f:1:1: the model has no layers; for example `- dense: {units: 1}`");
  EXPECT_EQ(layer_error("- dense: 5"),
            "f:1:10: [0].dense: expected the options of dense as a map, got 5; write `dense: {option: value}`");
}

TEST(ConfigNodes, AValueMayStandInPlaceOfOptions) {
  const Catalog catalog = Catalog::builtin();
  Spec resolved;
  const auto read = [&](const std::string& list) {
    return read_layers(parse_yaml(list, "f"), catalog.layers.layers, resolved);
  };
  const std::vector<LayerNode> layers = read("- reshape: [1, 28, 28]\n- reshape: -1\n- dropout: 0.25\n- max_pool: 2");
  ASSERT_EQ(layers.size(), 4u);
  EXPECT_EQ(layers[0].kind, "reshape");
  EXPECT_EQ(to_yaml(resolved),
            "- reshape: {shape: [1, 28, 28]}\n- reshape: {shape: [-1]}\n- dropout: {rate: 0.25}\n"
            "- max_pool: {size: 2, padding: valid}\n");
  const std::string again = to_yaml(resolved);
  read(again);
  EXPECT_EQ(to_yaml(resolved), again);
  const auto error = [&](const std::string& list) { return error_of<ConfigError>([&] { read(list); }); };
  EXPECT_EQ(error("- reshape: [1, 0]"), "f:1:16: [0].reshape[1]: expected at least 1, or -1, got 0");
  EXPECT_EQ(error("- reshape: []"), "f:1:12: [0].reshape: expected 1 to 5 sizes, got 0");
  EXPECT_EQ(error("- reshpae: [1, 2]"), "f:1:3: [0]: unknown layer \"reshpae\"; did you mean reshape?");
  EXPECT_EQ(error("- dropout: 1"), "f:1:12: [0].dropout: expected at least 0 and less than 1, got 1");
  EXPECT_EQ(
      error("- flatten: [1, 2]"),
      "f:1:12: [0].flatten: expected the options of flatten as a map, got a list; write `flatten: {option: value}`");
}

TEST(ConfigNodes, LossMetricsAndOptimizer) {
  const Catalog catalog = fake_catalog();
  Spec resolved;
  EXPECT_EQ(error_of<ConfigError>([&] { read_loss(parse_yaml("msse", "f"), catalog.layers.losses, resolved); }),
            "f:1:1: unknown loss \"msse\"; did you mean mse?");
  EXPECT_EQ(
      error_of<ConfigError>([&] { read_loss(parse_yaml("mse: {wieght: w}", "f"), catalog.layers.losses, resolved); }),
      "f:1:7: mse: unknown key wieght; did you mean weight?");
  EXPECT_EQ(
      error_of<ConfigError>([&] { read_metrics(parse_yaml("[acuracy]", "f"), catalog.layers.metrics, resolved); }),
      "f:1:2: [0]: unknown metric \"acuracy\"; did you mean accuracy?");
  EXPECT_EQ(
      error_of<ConfigError>([&] { read_optimizer(parse_yaml("sdg: {}", "f"), catalog.layers.optimizers, resolved); }),
      "f:1:1: unknown optimizer \"sdg\"; did you mean sgd?");
  EXPECT_EQ(read_metrics(parse_yaml("accuracy", "f"), catalog.layers.metrics, resolved).size(), 1u);
  EXPECT_EQ(to_yaml(resolved), "- accuracy\n");
}

TEST(ConfigNodes, TellTheKeysOfEveryKind) {
  const auto names = [](const std::vector<OptionInfo>& keys) {
    std::vector<std::string> out;
    for (const OptionInfo& key : keys) out.push_back(key.name);
    return out;
  };
  EXPECT_EQ(names(describe_layer_keys()), (std::vector<std::string>{"from", "name"}));
  EXPECT_EQ(names(describe_loss_keys()), (std::vector<std::string>{"from", "weight"}));
  const OptionForm list = list_of_kinds("layer");
  EXPECT_EQ(list.is, OptionForm::Is::list);
  EXPECT_TRUE(list.not_empty);
  EXPECT_EQ(list.items.at(0).sort, "layer");
}

}  // namespace
}  // namespace millrace
