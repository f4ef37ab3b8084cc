#include "millrace/layers/catalog.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(LayerCatalog, HoldsWhatTheFoldersHold) {
  const LayerCatalog catalog = LayerCatalog::builtin();
  EXPECT_TRUE(catalog.layers.entries().contains("dense"));
  EXPECT_TRUE(catalog.layers.entries().contains("relu"));
  EXPECT_TRUE(catalog.layers.entries().contains("tanh"));
  EXPECT_TRUE(catalog.layers.entries().contains("gelu"));
  EXPECT_TRUE(catalog.layers.entries().contains("add"));
  for (const char* kind :
       {"leaky_relu", "elu", "sigmoid", "softmax", "dropout", "concat", "mul", "flatten", "reshape", "scale"}) {
    EXPECT_TRUE(catalog.layers.entries().contains(kind)) << kind;
  }
  EXPECT_EQ(catalog.losses.kinds(), (std::vector<std::string>{"hinge", "huber", "mae", "mse", "sigmoid_cross_entropy",
                                                              "softmax_cross_entropy"}));
  EXPECT_EQ(catalog.metrics.kinds(), (std::vector<std::string>{"accuracy", "auc", "f1", "mae", "mse", "precision", "r2",
                                                               "recall", "rmse", "top_k"}));
  EXPECT_TRUE(catalog.optimizers.entries().contains("sgd"));
}

TEST(LayerCatalog, LessIsBetterOfErrorsAlone) {
  const LayerCatalog catalog = LayerCatalog::builtin();
  std::vector<std::string> errors;
  for (const auto& [kind, entry] : catalog.metrics.entries()) {
    if (entry.make(Spec::map(), nullptr)->less_is_better()) errors.push_back(kind);
  }
  EXPECT_EQ(errors, (std::vector<std::string>{"mae", "mse", "rmse"}));
}

TEST(LayerCatalog, DescribesEveryKind) {
  const LayerCatalog catalog = LayerCatalog::builtin();
  for (const auto& [kind, entry] : catalog.layers.entries()) EXPECT_FALSE(entry.doc.empty()) << kind;
  const std::vector<OptionInfo> options = catalog.layers.entries().find("dense")->second.describe();
  ASSERT_EQ(options.size(), 3U);
  EXPECT_EQ(options[0].name, "units");
  EXPECT_TRUE(options[0].required);
  EXPECT_EQ(options[1].type, "none|relu|tanh|gelu|sigmoid");
  EXPECT_EQ(options[1].default_value, "none");
  EXPECT_EQ(options[2].default_value, "true");
}

TEST(LayerCatalog, ResolvesDefaults) {
  const Spec options = Spec::map().set("units", 3);
  Spec resolved;
  LayerCatalog::builtin().layers.make({"dense", options}, options, &resolved);
  ASSERT_EQ(resolved.size(), 3U);
  EXPECT_EQ(resolved.find("activation")->as_string(), "none");
  EXPECT_TRUE(resolved.find("bias")->as_bool());
}

TEST(LayerCatalog, NamesTheNearestKind) {
  const auto error_of = [](const auto& registry, const char* kind) -> std::string {
    try {
      registry.make({kind, Spec::map()}, Spec());
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  };
  const LayerCatalog catalog = LayerCatalog::builtin();
  EXPECT_EQ(error_of(catalog.layers, "dens"), "unknown layer \"dens\"; did you mean dense?");
  EXPECT_EQ(error_of(catalog.losses, "sigmoid_crossentropy"),
            "unknown loss \"sigmoid_crossentropy\"; did you mean sigmoid_cross_entropy?");
  EXPECT_EQ(error_of(catalog.optimizers, "sgdd"), "unknown optimizer \"sgdd\"; did you mean sgd?");
}

TEST(LayerCatalog, IsAValue) {
  LayerCatalog own = LayerCatalog::builtin();
  const LayerCatalog copy = own;
  EXPECT_EQ(copy.layers.kinds(), own.layers.kinds());
}

}  // namespace
}  // namespace millrace
