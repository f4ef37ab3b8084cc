#include "millrace/layers/model/model.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/layers/follow_layer.h"
#include "tests/layers/layer_run.h"
#include "tests/layers/lookup_layer.h"
#include "tests/layers/model/build_model.h"

namespace millrace::testing {
namespace {

class ModelTest : public ::testing::Test {
 protected:
  Model build(const std::vector<LayerLine>& lines, std::vector<NamedSpec> fields, DType dtype = DType::f32,
              uint64_t seed = 23) {
    return build_model(context_, lines, std::move(fields), dtype, seed);
  }
  std::string error_of(const std::vector<LayerLine>& lines, std::vector<NamedSpec> fields) {
    try {
      build(lines, std::move(fields));
    } catch (const ShapeError& error) {
      return error.what();
    }
    return "no shape error";
  }

  Executor executor_{2};
  Context context_{Device::cpu(), executor_};
};

const std::vector<LayerLine> kMlp = {{.kind = "dense", .options = dense_units(20, "relu")},
                                     {.kind = "dense", .options = dense_units(1)}};

TEST_F(ModelTest, InfersShapesAndNamesParameters) {
  Model model = build(kMlp, features(Shape{5}));
  ASSERT_EQ(model.nodes().size(), 2U);
  EXPECT_EQ(model.nodes()[0].output, (TensorSpec{Shape{20}, DType::f32}));
  EXPECT_EQ(model.output(), (TensorSpec{Shape{1}, DType::f32}));
  std::vector<std::string> names;
  for (const Parameter& parameter : model.parameters()) names.push_back(parameter.name);
  EXPECT_EQ(names, (std::vector<std::string>{"dense.weight", "dense.bias", "dense_2.weight", "dense_2.bias"}));
  EXPECT_EQ(model.parameters()[2].shape, (Shape{1, 20}));
  EXPECT_EQ(model.nodes()[1].first_parameter, 2U);
  EXPECT_EQ(model.nodes()[1].parameter_count, 2U);
  EXPECT_EQ(model.parameter_count(), 100 + 20 + 20 + 1);
  ASSERT_EQ(model.fields().size(), 1U);
  EXPECT_EQ(model.fields()[0].name, "features");
}

TEST_F(ModelTest, KeepsParametersInOneAlignedBlock) {
  Model model = build(kMlp, features(Shape{5}));
  auto* const block = static_cast<std::byte*>(model.parameter_block().data());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0U);
  const std::vector<size_t> offsets = {0, 448, 576, 704};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(model.parameters()[i].offset, offsets[i]);
    EXPECT_EQ(model.parameter(i).data(), block + offsets[i]);
    EXPECT_EQ(model.parameter(i).shape(), model.parameters()[i].shape);
    EXPECT_TRUE(model.parameter(i).contiguous());
  }
  EXPECT_EQ(model.parameter_block().spec(), (TensorSpec{Shape{768 / 4}, DType::f32}));
  for (size_t i = 100; i < 112; ++i) EXPECT_EQ(model.parameter_block().as<float>()[i], 0) << "padding " << i;
}

TEST_F(ModelTest, ShowsItsValuesWhenItMayNotChange) {
  Model model = build_model(context_, {{.kind = "dense", .options = dense_units(20)}, {.kind = "follow"}},
                            features(Shape{5}), DType::f32, 23, with_follow());
  const Model& same = model;
  EXPECT_EQ(same.parameter(1).data(), model.parameter(1).data());
  EXPECT_EQ(same.parameter(1).shape(), Shape{20});
  EXPECT_EQ(same.state(0).data(), model.state(0).data());
  EXPECT_EQ(same.state(0).shape(), Shape{20});
  EXPECT_EQ(same.parameter_block().data(), model.parameter_block().data());
  EXPECT_EQ(same.parameter_block().spec(), model.parameter_block().spec());
}

TEST_F(ModelTest, BeginsWithValuesKeyedByParameterName) {
  Model model = build(kMlp, features(Shape{5}));
  Tensor expected(Device::cpu(), {Shape{1, 20}, DType::f32});
  initialize(context_, "dense_2.weight", glorot_uniform(20, 1), 23, expected.view());
  EXPECT_EQ(read_values(model.parameter(2)), read_values(expected.view()));
  EXPECT_EQ(read_values(model.parameter(1)), filled(20, 0));

  // Another layer before it changes nothing but the name.
  Model longer = build({{.kind = "dense", .options = dense_units(20), .name = "first"},
                        {.kind = "dense", .options = dense_units(20), .name = "second"},
                        {.kind = "dense", .options = dense_units(1), .name = "dense_2"}},
                       features(Shape{5}));
  EXPECT_EQ(read_values(longer.parameter(4)), read_values(expected.view()));
}

TEST_F(ModelTest, MayComputeInDouble) {
  Model model = build(kMlp, features(Shape{5}, DType::f64), DType::f64);
  EXPECT_EQ(model.output().dtype, DType::f64);
  EXPECT_EQ(model.parameter(0).dtype(), DType::f64);
}

TEST_F(ModelTest, SummarisesItsLayers) {
  const Model model = build({{.kind = "dense", .options = dense_units(1024, "relu"), .name = "hidden"},
                             {.kind = "dense", .options = dense_units(1024)},
                             {.kind = "add", .from = {"hidden", "dense"}},
                             {.kind = "relu"},
                             {.kind = "dense", .options = dense_units(1)}},
                            features(Shape{1024}));
  EXPECT_EQ(model.summary(),
            "layer    kind   from           output          parameters\n"
            "hidden   dense  features       float32 (1024)     1049600\n"
            "dense    dense  hidden         float32 (1024)     1049600\n"
            "add      add    hidden, dense  float32 (1024)           0\n"
            "relu     relu   add            float32 (1024)           0\n"
            "dense_2  dense  relu           float32 (1)           1025\n"
            "total                                             2100225\n");
}

TEST_F(ModelTest, NamesTheLayerAndBothSidesOfWhatDoesNotFit) {
  EXPECT_EQ(error_of({{.kind = "dense", .options = dense_units(3), .name = "a"},
                      {.kind = "dense", .options = dense_units(4), .from = {"features"}, .name = "b"},
                      {.kind = "add", .from = {"a", "b"}}},
                     features(Shape{5})),
            "net.yaml:3:5: model[2].add: layer add: expected inputs of one shape, got float32 (3) and float32 (4); "
            "it reads a float32 (3) and b float32 (4)");
  EXPECT_EQ(error_of({{.kind = "dense", .options = dense_units(3)}}, features(Shape{5, 2})),
            "net.yaml:1:5: model[0].dense: layer dense: expected one vector per row, got float32 (5, 2); put a flatten "
            "before it");
}

TEST_F(ModelTest, TakesFieldsOfAnyDType) {
  for (const DType given : {DType::f32, DType::f64, DType::i64, DType::u8}) {
    const Model model = build(kMlp, features(Shape{5}, given));
    EXPECT_EQ(model.fields()[0].spec, (TensorSpec{Shape{5}, DType::f32}));
  }
}

TEST_F(ModelTest, RefusesAnOutputOfADTypeThatItsReaderDoesNotTake) {
  const auto message = [&](const std::vector<LayerLine>& lines) -> std::string {
    try {
      build_model(context_, lines, features(Shape{3}), DType::f32, 1, with_lookup());
    } catch (const ShapeError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message({{.kind = "rank"}, {.kind = "relu"}}),
            "net.yaml:2:5: model[1].relu: layer relu: expected float32 values, got int32 (3); it reads rank int32 (3)");
  EXPECT_EQ(message({{.kind = "relu"}, {.kind = "lookup"}}),
            "net.yaml:2:5: model[1].lookup: layer lookup: expected int32 values, got float32 (3); "
            "it reads relu float32 (3)");
  EXPECT_EQ(message({{.kind = "rank"}, {.kind = "lookup"}, {.kind = "relu"}}), "no error");
}

// A layer with state, and one that declares a name twice.
class Stateful final : public Layer {
 public:
  struct Options {
    bool twice = false;
    void declare(OptionReader& o) { o.optional("twice", twice, "declares one name twice"); }
  };
  static constexpr std::string_view kDoc = "keeps a state";
  explicit Stateful(const Options& options) : twice_(options.twice) {}
  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder& params) override {
    params.state("mean", {3}, {});
    params.parameter("scale", {2}, Initializer::constant(1));
    params.state("variance", {20}, Initializer::constant(1));
    if (twice_) params.parameter("mean", {1}, {});
    return inputs[0];
  }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs&) const override { return nullptr; }

 private:
  bool twice_;
};

TEST_F(ModelTest, KeepsStateApart) {
  LayerCatalog catalog = LayerCatalog::builtin();
  catalog.layers.add<Stateful>("stateful");
  Model model =
      Model::build({.layers = layer_nodes({{.kind = "stateful"}}, catalog), .inputs = features(Shape{3})}, context_);
  ASSERT_EQ(model.states().size(), 2U);
  EXPECT_EQ(model.states()[0].name, "stateful.mean");
  EXPECT_EQ(read_values(model.state(1)), filled(20, 1));
  EXPECT_EQ(read_values(model.parameter(0)), filled(2, 1));
  EXPECT_EQ(model.parameter_count(), 2);
  EXPECT_EQ(model.nodes()[0].state_count, 2U);
  EXPECT_EQ(model.bytes(), (64 + 128) + 64U);
}

TEST_F(ModelTest, RefusesALayerThatDeclaresANameTwice) {
  LayerCatalog catalog = LayerCatalog::builtin();
  catalog.layers.add<Stateful>("stateful");
  try {
    Model::build({.layers = layer_nodes({{.kind = "stateful", .options = Spec::map().set("twice", true)}}, catalog),
                  .inputs = features(Shape{3})},
                 context_);
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_EQ(error.message(), "model[0].stateful: layer stateful: the layer declares \"mean\" twice");
  }
}

// Parameters of 2^62 bytes each.
class Enormous final : public Layer {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "declares more than memory can hold";
  explicit Enormous(const Options&) {}
  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder& params) override {
    for (const char* name : {"a", "b", "c", "d"}) params.parameter(name, {int64_t{1} << 59}, {});
    return inputs[0];
  }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs&) const override { return nullptr; }
};

TEST_F(ModelTest, RefusesParametersThatItCannotCount) {
  LayerCatalog catalog = LayerCatalog::builtin();
  catalog.layers.add<Enormous>("enormous");
  try {
    Model::build({.layers = layer_nodes({{.kind = "enormous"}}, catalog),
                  .inputs = features(Shape{3}, DType::f64),
                  .dtype = DType::f64},
                 context_);
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "13835058055282163712 + 4611686018427387904 bytes are more than memory can hold");
  }
}

// Wants or gives values of a type that does not exist.
class Untyped final : public Layer {
 public:
  struct Options {
    bool wants = false;
    void declare(OptionReader& o) { o.optional("wants", wants, "what it wants is of that type, else what it gives"); }
  };
  static constexpr std::string_view kDoc = "has an odd type";
  explicit Untyped(const Options& options) : wants_(options.wants) {}
  Wanted wants(int, DType model) const override { return {.dtype = wants_ ? kOdd : model}; }
  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder&) override { return {inputs[0].shape, kOdd}; }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs&) const override { return nullptr; }

 private:
  static constexpr auto kOdd = static_cast<DType>(99);
  bool wants_;
};

TEST_F(ModelTest, RefusesTypesThatDoNotExist) {
  LayerCatalog catalog = LayerCatalog::builtin();
  catalog.layers.add<Untyped>("untyped");
  const auto error_with = [&](bool wants, const std::vector<LayerLine>& before) -> std::string {
    std::vector<LayerLine> lines = before;
    lines.push_back({.kind = "untyped", .options = Spec::map().set("wants", wants)});
    try {
      build_model(context_, lines, features(Shape{3}), DType::f32, 23, catalog);
    } catch (const InternalError& error) {
      EXPECT_TRUE(error.place().known());
      return error.message();
    }
    return "no error";
  };
  const std::string text = "layer untyped: there is no DType of the number 99";
  EXPECT_EQ(error_with(true, {}), text) << "of a field";
  EXPECT_EQ(error_with(true, kMlp), "model[2].untyped: " + text) << "of a layer's output";
  EXPECT_EQ(error_with(false, {}), "model[0].untyped: " + text);
}

TEST_F(ModelTest, IsMovable) {
  Model model = build(kMlp, features(Shape{5}));
  const std::vector<double> before = read_values(model.parameter(0));
  Model moved = std::move(model);
  EXPECT_EQ(read_values(moved.parameter(0)), before);
}

}  // namespace
}  // namespace millrace::testing
