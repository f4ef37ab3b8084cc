#include "millrace/trainer/step/model_copy.h"

#include <gtest/gtest.h>

#include "tests/layers/follow_layer.h"

namespace millrace {
namespace {

TEST(ModelCopy, GivesBackParametersAndStates) {
  const LayerCatalog catalog = testing::with_follow();
  Executor executor(1);
  Context context(Device::cpu(), executor);
  const Spec units = Spec::map().set("units", 1);
  std::vector<LayerNode> layers(2);
  layers[0].kind = "follow";
  layers[0].layer = catalog.layers.make({"follow", Spec::map()}, Spec::map());
  layers[1].kind = "dense";
  layers[1].layer = catalog.layers.make({"dense", units}, units);
  Model model = Model::build({.layers = std::move(layers), .inputs = {{"features", {{2}, DType::f32}}}}, context);
  float *weight = model.parameter(0).as<float>(), *mean = model.state(0).as<float>();
  weight[1] = 7;
  mean[1] = 3;

  ModelCopy all(model, context);
  ModelCopy states(model, context, ModelCopy::Of::states);
  EXPECT_EQ(states.bytes(), model.state(0).bytes());
  EXPECT_EQ(all.bytes(), model.parameter_block().bytes() + states.bytes());
  all.take();
  states.take();
  weight[1] = mean[1] = -1;
  states.give_back();
  EXPECT_EQ(mean[1], 3);
  EXPECT_EQ(weight[1], -1) << "no state";
  mean[1] = -1;
  all.give_back();
  EXPECT_EQ(mean[1], 3);
  EXPECT_EQ(weight[1], 7);
}

}  // namespace
}  // namespace millrace
