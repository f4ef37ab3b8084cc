#include "millrace/trainer/saved_model.h"

#include <gtest/gtest.h>

#include "millrace/layers/catalog.h"
#include "millrace/trainer/model_file.h"
#include "millrace/trainer/sha256.h"
#include "millrace/trainer/yaml.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

Model make_model(Context& context) {
  const LayerCatalog catalog = LayerCatalog::builtin();
  const Spec units = Spec::map().set("units", 3);
  std::vector<LayerNode> layers(1);
  layers[0].kind = "dense";
  layers[0].layer = catalog.layers.make({"dense", units}, units);
  return Model::build({.layers = std::move(layers), .inputs = {{"features", {{2}, DType::f32}}}, .seed = 9}, context);
}

TEST(SavedModel, HoldsParametersAndConfiguration) {
  const TempFolder folder;
  Executor executor(1);
  Context context(Device::cpu(), executor);
  Model model = make_model(context);
  save_model(folder.path("m.safetensors"), model, context, Spec::map().set("seed", 9));

  const ModelFile file = ModelFile::read(folder.path("m.safetensors"));
  ASSERT_EQ(file.entries().size(), 2u);
  EXPECT_EQ(file.entries()[0].name, "dense.weight");
  EXPECT_EQ(file.entries()[0].spec, (TensorSpec{{3, 2}, DType::f32}));
  EXPECT_EQ(file.entries()[1].name, "dense.bias");
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(file.values(file.entries()[0]).as<float>()[i], model.parameter(0).as<float>()[i]);
  }
  EXPECT_EQ(parse_yaml(file.metadata().at("config"), "saved").find("seed")->as_int(), 9);
}

TEST(SavedModel, HashIsOfTheParametersInOrder) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  Model model = make_model(context);
  Sha256 expected;
  expected.update({static_cast<const std::byte*>(model.parameter(0).data()), 6 * sizeof(float)});
  expected.update({static_cast<const std::byte*>(model.parameter(1).data()), 3 * sizeof(float)});
  const std::string hash = weights_hash(model, context);
  EXPECT_EQ(hash, expected.hex());
  model.parameter(1).as<float>()[2] += 1;
  EXPECT_NE(weights_hash(model, context), hash);
}

}  // namespace
}  // namespace millrace
