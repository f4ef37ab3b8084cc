#include "millrace/trainer/catalog.h"

#include <gtest/gtest.h>

#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/fake_kinds.h"

namespace millrace {
namespace {

TEST(Catalog, HoldsEveryBuiltInKind) {
  const Catalog catalog = Catalog::builtin();
  EXPECT_TRUE(catalog.ops.entries().contains("shuffle_batch"));
  EXPECT_TRUE(catalog.layers.layers.entries().contains("dense"));
  EXPECT_TRUE(catalog.layers.losses.entries().contains("sigmoid_cross_entropy"));
  EXPECT_TRUE(catalog.layers.metrics.entries().contains("accuracy"));
  EXPECT_TRUE(catalog.layers.optimizers.entries().contains("sgd"));
}

// The reference is made of these.
TEST(Catalog, EveryKindAndOptionIsDocumented) {
  const Catalog catalog = Catalog::builtin();
  const auto check = [](const auto& registry) {
    for (const auto& [kind, entry] : registry.entries()) {
      EXPECT_FALSE(entry.doc.empty()) << kind;
      for (const OptionInfo& option : entry.describe()) EXPECT_FALSE(option.doc.empty()) << kind << '.' << option.name;
    }
  };
  check(catalog.ops);
  check(catalog.layers.layers);
  check(catalog.layers.losses);
  check(catalog.layers.metrics);
  check(catalog.layers.optimizers);
}

// Far from every name: all of them are told.
TEST(Catalog, TellsWhatIsKnownOfEverySort) {
  const Catalog catalog = Catalog::builtin();
  const Spec spec = Spec::scalar("gearwheel", false, {"mill.yaml", 2, 3});
  const auto error_of_gearwheel = [&](const auto& registry) {
    return error_of<ConfigError>([&] { registry.make({"gearwheel", Spec::map()}, spec); });
  };
  const auto expected = [](std::string_view what, const auto& registry) {
    return cat("mill.yaml:2:3: unknown ", what, " \"gearwheel\"; known: ", join(registry.kinds()));
  };
  EXPECT_EQ(error_of_gearwheel(catalog.ops), expected("input op", catalog.ops));
  EXPECT_EQ(error_of_gearwheel(catalog.layers.layers), expected("layer", catalog.layers.layers));
  EXPECT_EQ(error_of_gearwheel(catalog.layers.losses), expected("loss", catalog.layers.losses));
  EXPECT_EQ(error_of_gearwheel(catalog.layers.metrics), expected("metric", catalog.layers.metrics));
  EXPECT_EQ(error_of_gearwheel(catalog.layers.optimizers), expected("optimizer", catalog.layers.optimizers));
}

TEST(Catalog, IsAValueThatAProgramAddsTo) {
  Catalog mine = Catalog::builtin();
  mine.layers.layers.add<FakeRelu>("my_relu");
  EXPECT_TRUE(mine.layers.layers.entries().contains("my_relu"));
  EXPECT_FALSE(Catalog::builtin().layers.layers.entries().contains("my_relu"));
  EXPECT_THROW(mine.layers.layers.add<FakeRelu>("my_relu"), ConfigError);
}

}  // namespace
}  // namespace millrace
