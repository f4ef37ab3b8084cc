#include "millrace/input/graph/connections.h"

#include <gtest/gtest.h>

#include <chrono>

#include "millrace/core/text.h"
#include "tests/input/graph/fake_graph.h"

namespace millrace {
namespace {

using fake::build;
using fake::error_of;
using fake::list;
using fake::of;
using fake::op;

TEST(Connections, ATransformOfRowsMayStandAfterABatch) {
  const InputGraph graph =
      build(list({op("integers"), op("group", {{"batch_size", of(7)}}), op("step", {{"as_float", Spec::of(true)}})}));
  EXPECT_EQ(graph.output().type, PortType::batches);
  EXPECT_EQ(graph.output().batch_size, 7);
  EXPECT_EQ(graph.output().rows.text(), "y: float32 (1)");
}

// If each looked through all ops from the first, and copied their names, it would take more than half a minute.
TEST(Connections, FindsTheOpsOfALongChainOfNamesAtOnce) {
  std::vector<GraphNode> nodes(40000);
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].name = cat("an op with a long name, number ", i);
    if (i == 0) continue;
    nodes[i].ports = {PortType::rows};
    nodes[i].from = {nodes[i - 1].name};
  }
  const auto start = std::chrono::steady_clock::now();
  connect_ops(nodes, fake::registry());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_EQ(nodes.back().inputs, std::vector<size_t>{nodes.size() - 2});
}

TEST(Connections, GivesNoHintWhereNoKindHelps) {
  try {
    InputGraph::build(list({op("names"), op("reader"), op("group")}), fake::registry(), {});
    ADD_FAILURE() << "it was built";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.message(), "input[2]: group expects rows, but reader gives text");
    EXPECT_EQ(error.hint(), "");
  }
}

TEST(Connections, NamesBothSidesOfAPortThatDoesNotFit) {
  EXPECT_EQ(error_of(list({op("names"), op("step"), op("group")})),
            "input[1]: step expects rows, but names gives names; put csv_reader and decode_csv between them");
  EXPECT_EQ(error_of(list({op("names"), op("reader"), op("group")})),
            "input[2]: group expects rows, but reader gives text; put decode_csv between them");
  EXPECT_EQ(error_of(list({op("integers"), op("reader"), op("group")})),
            "input[1]: reader expects names, but integers gives rows; remove reader: integers gives rows already");
  EXPECT_EQ(error_of(list({op("integers"), op("group"), op("first", {{"rows", of(1)}}), op("group")})),
            "input[2]: first expects rows, but group gives batches; put first before group");
  EXPECT_EQ(error_of(list({op("integers"), op("group"), op("step"), op("first", {{"rows", of(1)}})})),
            "input[3]: first expects rows, but step gives batches; put first before group");
  EXPECT_EQ(error_of(list({op("integers"), op("group"), op("step"), op("group")})),
            "input[3]: group_2 expects rows, but step gives batches; one op makes the batches: remove group or "
            "group_2");
  EXPECT_EQ(error_of(list({op("names"), op("reader"), op("reader"), op("group")})),
            "input[2]: reader_2 expects names, but reader gives text; remove reader_2: reader gives text already");
  EXPECT_EQ(error_of(list({op("step"), op("group")})),
            "input[0]: step expects rows, but no op stands before it; put filename_queue, csv_reader and decode_csv "
            "before it");
}

TEST(Connections, FindsInputsByName) {
  const Spec good = list({op("integers", {{"name", of("a")}}), op("integers", {{"name", of("b")}}),
                          op("step", {{"name", of("s")}, {"from", of("a")}}),
                          op("zip", {{"from", Spec::list().append(of("s")).append(of("b"))}}), op("group")});
  EXPECT_EQ(error_of(good), "built");
  EXPECT_EQ(error_of(list({op("integers"), op("group", {{"from", of("integrs")}})})),
            "input[1]: group takes from \"integrs\", but no op has that name; did you mean integers?");
  EXPECT_EQ(error_of(list({op("integers"), op("group", {{"from", of("nowhere")}})})),
            "input[1]: group takes from \"nowhere\", but no op has that name; the ops above it are integers");
  EXPECT_EQ(
      error_of(list({op("integers"), op("step", {{"from", of("group")}}), op("group")})),
      "input[1]: step takes from group, which does not stand before it; move it up: an op takes from ops above it");
  EXPECT_EQ(error_of(list({op("integers"), op("step", {{"from", of("step")}}), op("group")})),
            "input[1]: step takes from itself; name an op above it, or leave from out: then it takes from the op "
            "before it");
}

TEST(Connections, CountsInputs) {
  EXPECT_EQ(error_of(list({op("integers"), op("zip"), op("group")})),
            "input[1]: zip takes 2 inputs, got 0; name them in from: [a, b]");
  EXPECT_EQ(error_of(list({op("integers"), op("zip", {{"from", of("integers")}}), op("group")})),
            "input[1]: zip takes 2 inputs, got 1; name them in from: [a, b]");
  EXPECT_EQ(error_of(list({op("names"), op("integers", {{"from", of("names")}}), op("group")})),
            "input[1]: integers takes no input, got 1");
}

TEST(Connections, EveryOutputGoesToOneOp) {
  EXPECT_EQ(error_of(list({op("integers"), op("integers"), op("group")})),
            "input[0]: no op uses integers; name it in a from, or remove it");
  EXPECT_EQ(
      error_of(list({op("integers"), op("zip", {{"from", Spec::list().append(of("integers")).append(of("integers"))}}),
                     op("group")})),
      "input[0]: integers is used by zip and zip; an op's output goes to one op; write the op once for each of them");
}

}  // namespace
}  // namespace millrace
