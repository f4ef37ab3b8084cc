#include "millrace/layers/model/connect.h"

#include <gtest/gtest.h>

#include "tests/layers/lookup_layer.h"
#include "tests/layers/model/build_model.h"

namespace millrace::testing {
namespace {

const std::vector<NamedSpec> kBatch = {{"features", {Shape{4}}}, {"extra", {Shape{4}}}, {"label", {Shape{1}}}};

std::vector<std::string> names_of(const std::vector<LayerLine>& lines) {
  std::vector<LayerNode> nodes = layer_nodes(lines);
  connect(nodes, kBatch, DType::f32);
  std::vector<std::string> names;
  for (const LayerNode& node : nodes) names.push_back(node.name);
  return names;
}

std::string error_of(const std::vector<LayerLine>& lines, const std::vector<NamedSpec>& batch = kBatch) {
  std::vector<LayerNode> nodes = layer_nodes(lines, with_lookup());
  try {
    connect(nodes, batch, DType::f32);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

const LayerLine kRelu{.kind = "relu"};
LayerLine relu(std::string name, std::vector<std::string> from = {}) {
  return {.kind = "relu", .from = std::move(from), .name = std::move(name)};
}
LayerLine add(std::vector<std::string> from, std::string name = {}) {
  return {.kind = "add", .from = std::move(from), .name = std::move(name)};
}

TEST(Connect, NamesLayersByTheirKind) {
  EXPECT_EQ(names_of({kRelu, kRelu, {.kind = "dense", .options = dense_units(1)}, kRelu}),
            (std::vector<std::string>{"relu", "relu_2", "dense", "relu_3"}));
  EXPECT_EQ(names_of({relu("first"), kRelu, kRelu}), (std::vector<std::string>{"first", "relu", "relu_2"}));
  EXPECT_EQ(names_of({kRelu, relu("relu"), kRelu}), (std::vector<std::string>{"relu_2", "relu", "relu_3"}));
}

TEST(Connect, ReadsThePreviousLayerUnlessFromNamesOthers) {
  std::vector<LayerNode> nodes =
      layer_nodes({kRelu, relu("a"), relu("b", {"relu"}), add({"a", "b", "features"}), add({"extra", "add"}, "out")});
  const Connections connections = connect(nodes, kBatch, DType::f32);
  EXPECT_EQ(connections.inputs, (std::vector<std::vector<int>>{{-1}, {0}, {0}, {1, 2, -1}, {-2, 3}}));
  ASSERT_EQ(connections.fields.size(), 2U);
  EXPECT_EQ(connections.fields[0].name, "features");
  EXPECT_EQ(connections.fields[1].name, "extra");
}

TEST(Connect, NumbersFieldsByFirstUse) {
  std::vector<LayerNode> nodes = layer_nodes({relu("a", {"extra"}), add({"features", "a", "extra"})});
  const Connections connections = connect(nodes, kBatch, DType::f32);
  EXPECT_EQ(connections.inputs, (std::vector<std::vector<int>>{{-1}, {-2, 0, -1}}));
  EXPECT_EQ(connections.fields[0].name, "extra");
  EXPECT_EQ(connections.fields[1].name, "features");
}

TEST(Connect, MayReadOneOutputTwice) {
  std::vector<LayerNode> nodes = layer_nodes({relu("a"), add({"a", "a"})});
  EXPECT_EQ(connect(nodes, kBatch, DType::f32).inputs, (std::vector<std::vector<int>>{{-1}, {0, 0}}));
}

TEST(Connect, AsksForFieldsInTheDTypeOfTheirReaders) {
  const std::vector<NamedSpec> batch = {{"features", {Shape{2}, DType::i64}}, {"ids", {Shape{2}, DType::f32}}};
  for (const DType model : {DType::f32, DType::f64}) {
    std::vector<LayerNode> nodes = layer_nodes({{.kind = "lookup", .from = {"ids"}},
                                                {.kind = "relu", .from = {"features"}},
                                                {.kind = "lookup", .from = {"ids"}},
                                                {.kind = "add", .from = {"lookup", "relu", "lookup_2"}}},
                                               with_lookup());
    const std::vector<NamedSpec> fields = connect(nodes, batch, model).fields;
    ASSERT_EQ(fields.size(), 2U);
    EXPECT_EQ(fields[0].spec, (TensorSpec{Shape{2}, DType::i32}));
    EXPECT_EQ(fields[1].spec, (TensorSpec{Shape{2}, model}));
  }
}

TEST(Connect, AsksForValuesThatAllReadersOfAFieldKnow) {
  const auto lookup = [](int rows) -> LayerLine {
    return {.kind = "lookup", .options = Spec::map().set("rows", rows), .from = {"features"}};
  };
  std::vector<LayerNode> nodes =
      layer_nodes({lookup(7), lookup(3), lookup(5), add({"lookup", "lookup_2", "lookup_3"})}, with_lookup());
  const std::vector<NamedSpec> fields = connect(nodes, kBatch, DType::f32).fields;
  ASSERT_TRUE(fields[0].range);
  EXPECT_EQ(fields[0].range->min, 0);
  EXPECT_EQ(fields[0].range->max, 2);
  EXPECT_EQ(fields[0].range->hint, "ids are counted from 0, and the table needs a row for each");
  nodes = layer_nodes({relu("a")});
  EXPECT_FALSE(connect(nodes, kBatch, DType::f32).fields[0].range);
}

TEST(Connect, RejectsAFieldThatIsWantedInTwoDTypes) {
  EXPECT_EQ(
      error_of({relu("a"), {.kind = "lookup", .from = {"features"}, .name = "b"}, add({"a", "b"})}),
      "net.yaml:2:5: model[1].lookup: layer b: it wants the field features as int32, layer a wants it as float32; "
      "decode its columns into a second field for one of them");
}

TEST(Connect, RejectsNamesThatAreNotUnique) {
  EXPECT_EQ(error_of({relu("a"), relu("a")}),
            "net.yaml:2:5: model[1].relu: the name \"a\" is used twice; each layer needs a name of its own");
  EXPECT_EQ(error_of({relu("label")}),
            "net.yaml:1:5: model[0].relu: the name \"label\" is a field of the batch; "
            "each layer needs a name of its own");
}

TEST(Connect, RejectsNamesThatWouldBreakParameterNames) {
  EXPECT_EQ(
      error_of({relu("a.b")}),
      "net.yaml:1:5: model[0].relu: the layer's name \"a.b\" holds other characters than letters, digits, _ and -");
  EXPECT_EQ(error_of({relu(std::string(256, 'n'))}), "no error");
  EXPECT_EQ(error_of({relu(std::string(257, 'n'))}),
            "net.yaml:1:5: model[0].relu: expected a name of at most 256 bytes, got one of 257");
}

TEST(Connect, RejectsUnknownInputs) {
  EXPECT_EQ(error_of({relu("hidden"), relu("b", {"hiden"})}),
            "net.yaml:2:5: model[1].relu: layer b: there is no layer or field \"hiden\"; did you mean hidden?");
  EXPECT_EQ(error_of({relu("hidden"), relu("b", {"x"})}),
            "net.yaml:2:5: model[1].relu: layer b: there is no layer or field \"x\"; "
            "it may read features, extra, label or hidden");
}

TEST(Connect, RejectsLoops) {
  EXPECT_EQ(error_of({relu("a", {"b"}), relu("b")}),
            "net.yaml:1:5: model[0].relu: layer a: it reads b, which comes later; "
            "a layer reads fields of the batch and layers before it");
  EXPECT_EQ(error_of({relu("a", {"a"})}),
            "net.yaml:1:5: model[0].relu: layer a: it reads itself; "
            "a layer reads fields of the batch and layers before it");
}

TEST(Connect, RejectsOutputsThatNothingReads) {
  EXPECT_EQ(error_of({relu("a"), relu("b", {"features"})}),
            "net.yaml:1:5: model[0].relu: layer a: nothing reads its output; "
            "name it in the `from` of a later layer, or remove it");
}

TEST(Connect, RejectsAWrongNumberOfInputs) {
  EXPECT_EQ(error_of({kRelu, add({})}),
            "net.yaml:2:5: model[1].add: layer add: expected at least 2 inputs, got 1; name them: `from: [a, b]`");
  EXPECT_EQ(error_of({relu("a", {"features", "extra"})}),
            "net.yaml:1:5: model[0].relu: layer a: expected 1 input, got 2; name fewer in `from`");
}

TEST(Connect, NeedsFeaturesOrFrom) {
  EXPECT_EQ(error_of({kRelu}, {{"x", {Shape{1}}}, {"y", {Shape{1}}}}),
            "net.yaml:1:5: model[0].relu: layer relu: the batch has no field \"features\"; "
            "the first layer may read `from` x or y");
}

TEST(Connect, RefusesFieldsThatNoLayerCanRead) {
  EXPECT_EQ(error_of({kRelu}, {{.name = "features", .unfit = "which is string (1)", .hint = "read numbers"}}),
            "net.yaml:1:5: model[0].relu: layer relu: it reads the field features, which is string (1); read numbers");
}

TEST(Connect, NeedsALayer) { EXPECT_EQ(error_of({}), "the model has no layers; list at least one under model"); }

}  // namespace
}  // namespace millrace::testing
