#include "millrace/trainer/model_warnings.h"

#include <gtest/gtest.h>

#include "millrace/trainer/yaml.h"

namespace millrace {
namespace {

std::vector<std::string> warnings(const std::string& model, const std::string& loss) {
  return model_warnings(parse_yaml("model: " + model + "\nloss: " + loss + "\n", "t.yaml"));
}

TEST(ModelWarnings, ALossThatAppliesTheLastLayerItself) {
  EXPECT_EQ(warnings("[{dense: {units: 3}}, softmax]", "{softmax_cross_entropy: {label_smoothing: 0.1}}"),
            std::vector<std::string>{"the model ends in softmax, but softmax_cross_entropy takes what comes before it "
                                     "and applies softmax itself: leave it out"});
  EXPECT_EQ(warnings("[{dense: {units: 1, activation: sigmoid}}]", "sigmoid_cross_entropy"),
            std::vector<std::string>{"the model ends in sigmoid, but sigmoid_cross_entropy takes what comes before it "
                                     "and applies sigmoid itself: leave it out"});
}

TEST(ModelWarnings, AreSilentOtherwise) {
  EXPECT_TRUE(warnings("[softmax, {dense: {units: 3}}]", "softmax_cross_entropy").empty());
  EXPECT_TRUE(warnings("[{dense: {units: 1, activation: none}}]", "sigmoid_cross_entropy").empty());
  EXPECT_TRUE(warnings("[sigmoid]", "mse").empty());
  EXPECT_TRUE(model_warnings(Spec::map()).empty());
}

}  // namespace
}  // namespace millrace
