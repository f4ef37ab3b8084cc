#include "millrace/layers/catalog.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(LayerCatalog, HoldsWhatTheFoldersHold) {
  const LayerCatalog catalog = LayerCatalog::builtin();
  for (const char* kind : {"dense", "relu", "add", "dropout", "batch_norm"}) {
    EXPECT_TRUE(catalog.layers.entries().contains(kind)) << kind;
  }
  for (const char* kind : {"mse", "softmax_cross_entropy"}) {
    EXPECT_TRUE(catalog.losses.entries().contains(kind)) << kind;
  }
  for (const char* kind : {"accuracy", "auc", "mse"}) {
    EXPECT_TRUE(catalog.metrics.entries().contains(kind)) << kind;
  }
  EXPECT_TRUE(catalog.optimizers.entries().contains("sgd"));
}

TEST(LayerCatalog, LessIsBetterOfErrorsOnly) {
  const LayerCatalog catalog = LayerCatalog::builtin();
  const auto less_is_better = [&](const char* kind) {
    return catalog.metrics.entries().find(kind)->second.make(Spec::map(), nullptr)->less_is_better();
  };
  for (const char* kind : {"mae", "mse", "rmse"}) EXPECT_TRUE(less_is_better(kind)) << kind;
  for (const char* kind : {"accuracy", "auc", "f1", "precision", "r2", "recall", "top_k"}) {
    EXPECT_FALSE(less_is_better(kind)) << kind;
  }
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
