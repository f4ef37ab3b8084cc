// The layers of examples/custom_layer, by the check that programs have.
#include <gtest/gtest.h>

#include "examples/custom_layer/center.h"
#include "examples/custom_layer/gate.h"
#include "examples/custom_layer/layers.h"
#include "millrace/testing.h"
#include "millrace/trainer/config/catalog.h"
#include "tests/layers/layer_run.h"

namespace millrace::testing {
namespace {

TEST(CustomLayerExample, HasTheRightGradients) {
  SoftsignLayer softsign({});
  PreluLayer prelu({});
  CenterLayer center({});
  GateLayer gate({});
  EXPECT_LT(check_gradients(softsign, {.inputs = {Shape{2, 3}}}).error, 1e-7);
  EXPECT_LT(check_gradients(prelu, {.inputs = {Shape{7}}, .batch = 11}).error, 1e-7);
  EXPECT_LT(check_gradients(center, {.inputs = {Shape{7}}, .batch = 11}).error, 1e-7);
  EXPECT_LT(check_gradients(gate, {.inputs = {Shape{2, 3}, Shape{2, 3}}}).error, 1e-7);
}

TEST(CustomLayerExample, CenterFollowsTheMeanInTrainingAlone) {
  Catalog catalog = Catalog::builtin();
  catalog.add_layer<CenterLayer>("center");
  for (const Mode mode : {Mode::train, Mode::predict}) {
    LayerRun run({.kind = "center",
                  .options = Spec::map().set("momentum", 0.75),
                  .inputs = {Shape{2}},
                  .batch = 2,
                  .mode = mode},
                 catalog.layers);
    run.set_state(0, {4, 8});
    run.set_input(0, {1, 10, 3, 30});
    run.forward();
    EXPECT_EQ(run.output(), (std::vector<double>{-3, 2, -1, 22}));
    const std::vector<double> mean = run.state(0);
    EXPECT_EQ(mean, mode == Mode::train ? (std::vector<double>{3.5, 11}) : (std::vector<double>{4, 8}));
  }
}

}  // namespace
}  // namespace millrace::testing
