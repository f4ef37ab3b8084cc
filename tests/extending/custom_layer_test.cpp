// The layers of examples/custom_layer, by the check that programs have.
#include <gtest/gtest.h>

#include "examples/custom_layer/layers.h"
#include "millrace/layers/model/gradient_check.h"

namespace millrace {
namespace {

TEST(CustomLayerExample, HasTheRightGradients) {
  SoftsignLayer softsign({});
  PreluLayer prelu({});
  EXPECT_LT(check_gradients(softsign, {.inputs = {Shape{2, 3}}}).error, 1e-7);
  EXPECT_LT(check_gradients(prelu, {.inputs = {Shape{7}}, .batch = 11}).error, 1e-7);
}

}  // namespace
}  // namespace millrace
