#include "millrace/trainer/step/parameter_update.h"

#include <gtest/gtest.h>

#include <vector>

#include "millrace/layers/catalog.h"
#include "tests/layers/model/build_model.h"

namespace millrace {
namespace {

// Which runs an optimizer sees is tested with the step, in step_test.cpp.
class Doubling final : public Optimizer {
 public:
  int state_slots() const override { return 1; }
  void scalars(uint64_t, std::span<float> out) const override { out[0] = 0; }
  void update(Context&, const UpdateArgs& args) const override {
    for (int64_t i = 0; i < args.parameters.elements(); ++i) {
      args.slots[0].as<float>()[i] += args.gradients.as<float>()[i];
      args.parameters.as<float>()[i] += args.scalars[0] * args.gradients.as<float>()[i];
    }
  }
};

TEST(ParameterUpdate, GivesEveryParameterItsGradientAndItsSlot) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  const LayerCatalog catalog = LayerCatalog::builtin();
  std::vector<LayerNode> layers(2);
  for (size_t i = 0; i < layers.size(); ++i) {
    const Spec units = Spec::map().set("units", 2);
    layers[i].name = i == 0 ? "first" : "second";
    layers[i].kind = "dense";
    layers[i].layer = catalog.layers.make({"dense", units}, units);
  }
  Model model = Model::build({.layers = std::move(layers), .inputs = {{"features", {{2}, DType::f32}}}}, context);
  const Doubling optimizer;
  const ParameterUpdate update(model, context, optimizer);
  const TensorView block = model.parameter_block();
  ASSERT_EQ(update.slots().size(), 1U);
  EXPECT_EQ(update.bytes(), block.spec().bytes());

  std::vector<float> before(block.as<float>(), block.as<float>() + block.elements());
  const Memory gradients(Device::cpu(), block.spec().bytes());
  auto* const gradient = static_cast<float*>(gradients.data());
  for (int64_t i = 0; i < block.elements(); ++i) gradient[i] = static_cast<float>(i);
  const float scalars[] = {2};
  update.apply(gradients, scalars, nullptr);
  update.apply(gradients, scalars, nullptr);
  for (int64_t i = 0; i < block.elements(); ++i) {
    EXPECT_EQ(update.slots()[0].as<float>()[i], 2 * static_cast<float>(i));
    EXPECT_FLOAT_EQ(block.as<float>()[i], before[static_cast<size_t>(i)] + 4 * static_cast<float>(i));
  }
}

}  // namespace
}  // namespace millrace
