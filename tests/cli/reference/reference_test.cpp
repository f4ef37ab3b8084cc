#include "millrace/cli/reference/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "millrace/core/text.h"
#include "millrace/input/source.h"
#include "millrace/layers/schedule/schedule.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/trainer/fake_kinds.h"

namespace millrace::cli {
namespace {

struct Inner {
  int64_t size = 0;
  void declare(OptionReader& o) { o.required("size", size, {.min = 3}, "how large"); }
};

struct Options {
  int64_t count = 0;
  double rate = 0.5, share = 0;
  std::string field, mark = ",";
  Inner inner;
  std::vector<std::string> words = {"", "NA"};
  Spec parts;
  std::optional<int64_t> most;

  void declare(OptionReader& o) {
    o.required("count", count, {.min = 1, .max = 9}, "how many");
    o.optional("rate", rate, "how fast");
    o.required("share", share, {.min = 0, .max = 0.01, .above_min = true}, "how much");
    o.required("field", field, "which one");
    o.optional("mark", mark, "between them");
    o.required("inner", inner, "what is inside");
    o.optional("words", words, "what is left out");
    o.optional("parts", parts, "by name");
    o.may_be("parts", {{.is = OptionForm::Is::map, .items = option_forms<Inner>()}});
    o.optional("most", most, "at most so many");
  }
};

TEST(ReferenceTest, TheExampleHasWhatIsRequired) {
  EXPECT_EQ(kind_example({"thing", "does things", describe_options<Options>()}),
            "thing: {count: 5, share: 0.005, field: field, inner: {size: 10}}");
  EXPECT_EQ(kind_example({"relu", "max(x, 0)", {}}), "relu");
  EXPECT_EQ(kind_example({"dense", "", describe_options<Options>(), "units: 3"}), "dense: {units: 3}");
}

TEST(ReferenceTest, TheExampleIsTheValueThatStandsAlone) {
  struct Alone {
    std::vector<int64_t> shape;
    int64_t more = 0;
    void declare(OptionReader& o) {
      o.required("shape", shape, {.min = 1}, "sizes");
      o.optional("more", more, "another one");
      o.stands_alone("shape");
    }
  };
  const std::vector<OptionInfo> options = describe_options<Alone>();
  EXPECT_EQ(kind_example({"reshape", "", options, "shape: [1, 28, 28]"}), "reshape: [1, 28, 28]");
  EXPECT_EQ(kind_example({"reshape", "", options}), "reshape: 10");
  EXPECT_EQ(kind_example({"reshape", "", options, "shape: 3, more: 1"}), "reshape: {shape: 3, more: 1}");
  EXPECT_EQ(kind_example({"reshape", "", options, "more: 1"}), "reshape: {more: 1}");
}

TEST(ReferenceTest, TheExampleStandsUnderItsKey) {
  const auto placed = [](const char* sort, const char* example) {
    return placed_example({sort, {"x", "", {}, example}, {}, {}});
  };
  EXPECT_EQ(placed("input op", "a: 1"), "input:\n  - x: {a: 1}");
  EXPECT_EQ(placed("layer", ""), "model:\n  - x");
  EXPECT_EQ(placed("loss", ""), "loss: x");
  EXPECT_EQ(placed("optimizer", "a: 1"), "optimizer: {x: {a: 1}}");
  EXPECT_EQ(placed("schedule", ""), "optimizer: {adam: {schedule: x}}");
  EXPECT_EQ(placed("metric", ""), "metrics: [x]");
  EXPECT_EQ(placed("metric", "a: 1"), "metrics:\n  - x: {a: 1}");
}

TEST(ReferenceTest, OptionsInsideOthersHaveTheirPath) {
  const std::vector<OptionInfo> options = describe_options<Options>();
  std::string paths;
  for (const PlacedOption& option : flatten(options)) paths += option.path + ' ';
  EXPECT_EQ(paths, "count rate share field mark inner inner.size words parts parts.NAME.size most ");
}

struct Several {
  struct One {
    int64_t size = 0;
    void declare(OptionReader& o) { o.optional("size", size, {}, "how large"); }
  };
  std::vector<One> parts;
  void declare(OptionReader& o) { o.optional("parts", parts, "one or more"); }
};

TEST(ReferenceTest, OptionsInsideAListComeOnce) {
  const std::vector<OptionInfo> options = describe_options<Several>();
  std::string paths;
  for (const PlacedOption& option : flatten(options)) paths += option.path + ' ';
  EXPECT_EQ(paths, "parts parts.size ");
}

TEST(ReferenceTest, DefaultsAreWrittenAsInAConfiguration) {
  const std::vector<OptionInfo> options = describe_options<Options>();
  EXPECT_EQ(default_text(options[0]), "");
  EXPECT_EQ(default_text(options[1]), "0.5");
  EXPECT_EQ(default_text(options[4]), "\",\"");
  EXPECT_EQ(default_text(options[6]), "[\"\", NA]");
  EXPECT_EQ(default_text(options[8]), "");
}

TEST(ReferenceTest, ValuesHaveTypeAndRange) {
  const std::vector<OptionInfo> options = describe_options<Options>();
  EXPECT_EQ(value_text(options[0]), "integer; at least 1 and at most 9");
  EXPECT_EQ(value_text(options[1]), "number");
  EXPECT_EQ(value_text(options[7]), "map of names to {size}");
}

TEST(ReferenceTest, SortsHaveTheirCommonKeys) {
  const std::vector<KindReference> kinds = describe_layers(fake_catalog());
  ASSERT_EQ(kinds.size(), 5 + schedules().kinds().size());
  EXPECT_EQ(kinds[5].sort, "schedule");
  EXPECT_EQ(kinds[0].sort, "layer");
  EXPECT_EQ(kinds[0].info.kind, "dense");
  EXPECT_EQ(kinds[0].common.size(), 2u);
  EXPECT_EQ(kinds[2].sort, "loss");
  EXPECT_EQ(kinds[2].common.at(1).name, "weight");
  EXPECT_TRUE(kinds[4].common.empty());
  EXPECT_EQ(plural("loss"), "losses");
  EXPECT_EQ(plural("input op"), "input ops");
}

TEST(ReferenceTest, OpsSayWhatTheyReadAndGive) {
  std::map<std::string, std::string> ports;
  for (const KindReference& op : describe_ops(Catalog::builtin())) ports[op.info.kind] = op.ports;
  EXPECT_EQ(ports["filename_queue"], "nothing -> names");
  EXPECT_EQ(ports["csv_reader"], "names -> text");
  EXPECT_EQ(ports["decode_csv"], "text -> rows");
  EXPECT_EQ(ports["synthetic"], "nothing -> rows");
  EXPECT_EQ(ports["batch"], "rows -> batches");
  EXPECT_EQ(ports["shuffle_batch"], "rows -> batches");
  EXPECT_EQ(ports["mix"], "rows, ... -> rows");
}

struct Records : RecordSource {
  static constexpr std::string_view kDoc = "reads records";
  Records() : RecordSource({}) {}
  void decode(const std::byte*, RowBlock&, int64_t) const override {}
};
struct Lines final : Records {
  static constexpr std::string_view kLeads = "names to text";
};

TEST(ReferenceTest, SourcesOfTextSayThatTheyGiveIt) {
  Catalog catalog = Catalog::builtin();
  catalog.add_op<Records>("records");
  catalog.add_op<Lines>("lines");
  std::map<std::string, std::string> ports;
  for (const KindReference& op : describe_ops(catalog)) ports[op.info.kind] = op.ports;
  EXPECT_EQ(ports["records"], "names -> rows");
  EXPECT_EQ(ports["lines"], "names -> text");
}

TEST(ReferenceTest, PlaceholdersStandForNames) {
  const auto has = [](const char* placeholder, const std::string& name) {
    const std::vector<std::string> names = names_for(placeholder);
    return std::count(names.begin(), names.end(), name) == 1;
  };
  EXPECT_TRUE(has("OP", "shuffle_batch"));
  EXPECT_TRUE(has("KIND", "dense"));
  EXPECT_TRUE(has("KIND", "metrics"));
  EXPECT_TRUE(has("KEY", "optimizer"));
  EXPECT_FALSE(has("KEY", "dense"));
  EXPECT_TRUE(names_for("FILE").empty());
}

// Of every kind there is: what the reference shows can be written.
TEST(ReferenceTest, EveryExampleIsRead) {
  const Catalog catalog = Catalog::builtin();
  const auto check = [](const auto& registry, const std::vector<KindReference>& kinds) {
    for (const KindReference& kind : kinds) {
      if (kind.sort != registry.what()) continue;
      const Spec placed = parse_yaml(placed_example(kind), kind.info.kind);
      EXPECT_EQ(placed.size(), 1u);
      const Spec& value = placed.entries().front().second;
      const Spec& node = value.is_list() ? value.items().front() : value;
      KindAndOptions wanted = registry.read(node, "a kind");
      EXPECT_EQ(wanted.kind, kind.info.kind);
      if (kind.sort == "input op") wanted.options.erase("from");  // the graph's key
      EXPECT_NO_THROW(registry.make(wanted, node)) << placed_example(kind);
    }
  };
  const std::vector<KindReference> ops = describe_ops(catalog), layers = describe_layers(catalog);
  for (const KindReference& kind : layers) {
    if (kind.sort != "schedule") continue;
    EXPECT_NO_THROW(Schedule(parse_yaml(kind_example(kind.info), kind.info.kind))) << kind_example(kind.info);
  }
  check(catalog.ops, ops);
  check(catalog.layers.layers, layers);
  check(catalog.layers.losses, layers);
  check(catalog.layers.metrics, layers);
  check(catalog.layers.optimizers, layers);
}

}  // namespace
}  // namespace millrace::cli
