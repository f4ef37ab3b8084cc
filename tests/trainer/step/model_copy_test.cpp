#include "millrace/trainer/step/model_copy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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
  std::vector<NamedTensor> listed;
  all.list("best/", listed);
  states.list("before/", listed);
  std::vector<std::string> names;
  for (const NamedTensor& one : listed) names.push_back(one.name);
  EXPECT_EQ(names, (std::vector<std::string>{"best/dense.weight", "best/dense.bias", "best/follow.mean",
                                             "before/follow.mean"}));
  all.take();
  states.take();
  EXPECT_EQ(listed[0].values.spec(), model.parameter(0).spec());
  EXPECT_EQ(listed[0].values.as<float>()[1], 7);
  EXPECT_EQ(listed[2].values.as<float>()[1], 3);
  EXPECT_EQ(listed[3].values.as<float>()[1], 3);
  listed[3].values.as<float>()[1] = 4;
  weight[1] = mean[1] = -1;
  states.give_back();
  EXPECT_EQ(mean[1], 4) << "what was written into the copy";
  EXPECT_EQ(weight[1], -1) << "no state";
  mean[1] = -1;
  all.give_back();
  EXPECT_EQ(mean[1], 3);
  EXPECT_EQ(weight[1], 7);
}

}  // namespace
}  // namespace millrace
