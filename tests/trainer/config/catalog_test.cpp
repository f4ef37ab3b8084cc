#include "millrace/trainer/config/catalog.h"

#include <gtest/gtest.h>

#include "millrace/core/text.h"
#include "millrace/trainer/config/config.h"
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
    return cat("mill.yaml:2:3: unknown ", what, " \"gearwheel\"; known: ", join(registry.kinds()),
               "; plug-ins (--plugin FILE) and programs add others");
  };
  EXPECT_EQ(error_of_gearwheel(catalog.ops), expected("input op", catalog.ops));
  EXPECT_EQ(error_of_gearwheel(catalog.layers.layers), expected("layer", catalog.layers.layers));
  EXPECT_EQ(error_of_gearwheel(catalog.layers.losses), expected("loss", catalog.layers.losses));
  EXPECT_EQ(error_of_gearwheel(catalog.layers.metrics), expected("metric", catalog.layers.metrics));
  EXPECT_EQ(error_of_gearwheel(catalog.layers.optimizers), expected("optimizer", catalog.layers.optimizers));
}

TEST(Catalog, IsAValueThatAProgramAddsTo) {
  Catalog mine = Catalog::builtin();
  mine.add_layer<FakeRelu>("my_relu");
  mine.add_loss<FakeLoss>("my_loss");
  mine.add_metric<FakeMetric>("my_metric");
  mine.add_optimizer<FakeSgd>("my_sgd");
  mine.add_op("my_batch", mine.ops.entries().at("batch"));
  EXPECT_TRUE(mine.layers.layers.entries().contains("my_relu"));
  EXPECT_TRUE(mine.layers.losses.entries().contains("my_loss"));
  EXPECT_TRUE(mine.layers.metrics.entries().contains("my_metric"));
  EXPECT_TRUE(mine.layers.optimizers.entries().contains("my_sgd"));
  EXPECT_TRUE(mine.ops.entries().contains("my_batch"));
  EXPECT_FALSE(Catalog::builtin().layers.layers.entries().contains("my_relu"));
  EXPECT_THROW(mine.add_layer<FakeRelu>("my_relu"), ConfigError);
  for (const char* name : {"", "my relu", "relu:", "2nd"}) {
    EXPECT_THROW(mine.add_layer<FakeRelu>(name), ConfigError) << name;
    EXPECT_THROW(mine.add_op(name, mine.ops.entries().at("batch")), ConfigError) << name;
  }
}

// `options` and those inside them that do not say how they may be written.
void add_unknown(const std::string& path, const std::vector<OptionInfo>& options, std::vector<std::string>& out) {
  for (const OptionInfo& option : options) {
    const std::string here = cat(path, '.', option.name);
    std::vector<OptionForm> forms = option.forms;
    for (size_t i = 0; i < forms.size(); ++i) {
      if (forms[i].is == OptionForm::Is::any) out.push_back(here);
      add_unknown(here, forms[i].options, out);
      const std::vector<OptionForm> items = forms[i].items;
      forms.insert(forms.end(), items.begin(), items.end());
    }
    if (option.forms.empty()) out.push_back(here);
  }
}

// Reference pages and schema are made of these.
TEST(Catalog, EveryOptionSaysHowItMayBeWritten) {
  const Catalog catalog = Catalog::builtin();
  std::vector<std::string> unknown;
  const auto check = [&](const auto& registry) {
    for (const KindInfo& kind : registry.describe()) add_unknown(kind.kind, kind.options, unknown);
  };
  check(catalog.ops);
  check(catalog.layers.layers);
  check(catalog.layers.losses);
  check(catalog.layers.metrics);
  check(catalog.layers.optimizers);
  add_unknown("config", describe_config(), unknown);
  EXPECT_EQ(unknown, std::vector<std::string>())
      << "give their OptionType a forms(), or call OptionReader::may_be() where they are declared";
}

}  // namespace
}  // namespace millrace
