#include "millrace/input/graph/graph_list.h"

#include <gtest/gtest.h>

#include "millrace/input/catalog.h"
#include "tests/input/graph/fake_graph.h"

namespace millrace {
namespace {

using fake::list;
using fake::of;
using fake::op;

std::vector<std::string> names_of(const Spec& spec) {
  Spec resolved;
  std::vector<std::string> out;
  for (const GraphNode& node : read_graph_list(spec, fake::registry(), resolved)) out.push_back(node.name);
  return out;
}

std::string error_of(const Spec& spec) {
  try {
    names_of(spec);
  } catch (const ConfigError& error) {
    return cat(error.message(), error.hint().empty() ? "" : "; ", error.hint());
  }
  return "read";
}

TEST(GraphList, NamesOpsAfterTheirKind) {
  EXPECT_EQ(names_of(list({op("step"), Spec::of("step"), op("group"), op("step")})),
            (std::vector<std::string>{"step", "step_2", "group", "step_3"}));
  EXPECT_EQ(names_of(list({op("step"), op("step", {{"name", of("step_2")}}), op("step")})),
            (std::vector<std::string>{"step", "step_2", "step_3"}));
  EXPECT_EQ(names_of(list({op("step", {{"name", of("step")}}), op("step")})),
            (std::vector<std::string>{"step", "step_2"}));
}

TEST(GraphList, RefusesWhatIsNoList) {
  EXPECT_EQ(error_of(list({})), "input: expected at least one input op, got an empty list");
  EXPECT_EQ(error_of(Spec::of("x")), "expected a list, got the text \"x\"");
  EXPECT_EQ(error_of(list({of(3)})),
            "input[0]: unknown input op \"3\"; known: first, group, integers, names, reader, "
            "refusing, step, unchecked and zip");
  EXPECT_EQ(error_of(list({op("stap")})), "input[0]: unknown input op \"stap\"; did you mean step?");
}

TEST(GraphList, RefusesBadNames) {
  EXPECT_EQ(error_of(list({op("step", {{"name", of("a b")}})})),
            "input[0].step.name: expected a name of letters, digits, _ and -, got the text \"a b\"");
  EXPECT_EQ(error_of(list({op("step", {{"name", of(7)}})})),
            "input[0].step.name: expected a name of letters, digits, _ and -, got 7");
  EXPECT_EQ(error_of(list({op("step", {{"name", Spec::scalar(std::string(256, 'n'), true, {})}})})), "read");
  EXPECT_EQ(error_of(list({op("step", {{"name", Spec::scalar(std::string(257, 'n'), true, {})}})})),
            "input[0].step.name: expected a name of at most 256 bytes, got one of 257");
  EXPECT_EQ(error_of(list({op("step", {{"name", of("a")}}), op("group", {{"name", of("a")}})})),
            "input[1]: two ops have the name a; give one of them another name");
  EXPECT_EQ(error_of(list({op("step", {{"from", Spec::list()}})})),
            "input[0].step.from: expected the name of an op, got an empty list");
}

TEST(GraphList, RefusesUnknownOptions) {
  EXPECT_EQ(error_of(list({op("group", {{"batch_sise", of(3)}})})),
            "input[0].group: unknown key batch_sise; did you mean batch_size?");
}

TEST(GraphList, WritesEveryOptionAndReadsItAgain) {
  const Spec spec = list({Spec::of("integers"), op("group", {{"batch_size", of(9)}, {"from", of("integers")}})});
  GraphImpl first, second;
  first.nodes = read_graph_list(spec, fake::registry(), first.resolved);
  const Spec& resolved = first.resolved;
  ASSERT_EQ(resolved.size(), 2u);
  const Spec& group = *resolved.items()[1].find("group");
  EXPECT_EQ(group.find("name")->as_string(), "group");
  EXPECT_EQ(group.find("from")->items()[0].as_string(), "integers");
  EXPECT_EQ(group.find("batch_size")->as_int(), 9);
  EXPECT_TRUE(group.find("smaller")->as_bool());
  EXPECT_EQ(group.path(), "input[1].group");
  second.nodes = read_graph_list(resolved, fake::registry(), second.resolved);
  EXPECT_EQ(fingerprint(second), fingerprint(first));
}

TEST(GraphList, AValueMayStandInPlaceOfOptions) {
  Spec resolved;
  const Spec group = Spec::map().set("group", 3);
  const std::vector<GraphNode> nodes = read_graph_list(list({op("integers"), group}), fake::registry(), resolved);
  EXPECT_EQ(nodes.at(1).name, "group");
  EXPECT_EQ(resolved.items().at(1).find("group")->find("batch_size")->as_int(), 3);
  EXPECT_EQ(error_of(list({op("integers"), Spec::map().set("group", 0)})),
            "input[1].group: expected at least 1, got 0");
  EXPECT_EQ(error_of(list({Spec::map().set("step", Spec::list())})),
            "input[0].step: expected the options of step as a map, got a list; write `step: {option: value}`");
}

TEST(GraphList, FingerprintsWhatDecidesTheRows) {
  GraphImpl graph;
  graph.seed = 23;
  graph.nodes =
      read_graph_list(list({op("first", {{"rows", of(5)}}), op("group", {{"threads", of(3)}, {"capacity", of(9)}})}),
                      fake::registry(), graph.resolved);
  EXPECT_EQ(fingerprint(graph),
            "seed = 23\nfirst is first\nfirst.name = \"first\"\nfirst.rows = \"5\"\n"
            "group is group\ngroup.name = \"group\"\ngroup.batch_size = \"4\"\ngroup.smaller = \"true\"\n");
}

TEST(GraphList, TellsTheKeysOfEveryOp) {
  const std::vector<OptionInfo> keys = describe_graph_keys();
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0].name, "from");
  EXPECT_EQ(keys[1].name, "name");
}

std::string hint(const OpRegistry& registry, PortType from, PortType to) {
  return kinds_hint(registry, from, to, "put ", " there");
}

TEST(PortHints, NameTheBuiltInWay) {
  const OpRegistry registry = builtin_ops();
  EXPECT_EQ(hint(registry, PortType::text, PortType::rows), "put decode_csv there");
  EXPECT_EQ(hint(registry, PortType::none, PortType::batches),
            "put filename_queue, csv_reader, decode_csv and batch there");
  EXPECT_EQ(hint(registry, PortType::rows, PortType::text), "");
}

TEST(PortHints, NameTheShortestWayOfOthers) {
  OpRegistry registry = builtin_ops();
  OpRegistry::Entry entry = registry.find("csv_reader", Spec());
  entry.leads = "names to rows";
  registry.add("records", entry);
  EXPECT_EQ(hint(registry, PortType::names, PortType::batches), "put records and batch there");
  EXPECT_EQ(hint(registry, PortType::names, PortType::text), "put csv_reader there");
}

TEST(PortHints, AreEmptyWhereNothingLeadsThere) {
  EXPECT_EQ(hint(OpRegistry("input op"), PortType::names, PortType::rows), "");
}

}  // namespace
}  // namespace millrace
