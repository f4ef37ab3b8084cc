// Files of released versions, in tests/data/, are read for ever: NAME_VERSION.safetensors. They hold the same model of
// two features and two classes, trained for 20 steps.
#include <gtest/gtest.h>

#include <algorithm>

#include "millrace/core/text.h"
#include "millrace/trainer/files/model_file.h"
#include "millrace/trainer/predict/network.h"
#include "tests/support/paths.h"

namespace millrace {
namespace {

class ReleasedModel : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string path() { return cat(test::source_dir(), "/tests/data/", GetParam(), ".safetensors"); }
};

TEST_P(ReleasedModel, Predicts) {
  const Network network = Network::load(path());
  EXPECT_EQ(network.classes(), (std::vector<std::string>{"no", "yes"}));
  const std::vector<float> rows = {0.5f, -1, 2, 0.25f, -3, 1, 0, 0.125f};
  // As `trainer predict --raw` of that version said.
  const std::vector<float> expected = {0.17794311f, -1.4812145f, -0.42479545f,  0.42479545f,
                                       1.1038113f,  -5.600766f,  -0.015294254f, -0.77893823f};
  const std::vector<float> outputs = network.predict(rows);
  ASSERT_EQ(outputs.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(outputs[i], expected[i], 1e-5) << i;
}

TEST_P(ReleasedModel, HasTheStateOfItsOptimizer) {
  const ModelFile file = ModelFile::read(path());
  EXPECT_EQ(file.metadata().at("optimizer"), "adam");
  EXPECT_EQ(file.metadata().at("steps"), "20");
  EXPECT_EQ(file.metadata().at("updates"), "20");
  const auto has = [&](const std::string& name) {
    return std::any_of(file.entries().begin(), file.entries().end(),
                       [&](const auto& entry) { return entry.name == name; });
  };
  EXPECT_TRUE(has("optimizer/0/dense.weight"));
  EXPECT_TRUE(has("optimizer/1/dense_2.bias"));
}

INSTANTIATE_TEST_SUITE_P(Versions, ReleasedModel, ::testing::Values("model_0.2.0", "checkpoint_0.2.0"));

}  // namespace
}  // namespace millrace
