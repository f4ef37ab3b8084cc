#include "millrace/trainer/files/saved_model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/layers/catalog.h"
#include "millrace/trainer/files/model_file.h"
#include "millrace/trainer/files/sha256.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/version.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

Model make_model(Context& context) {
  const LayerCatalog catalog = LayerCatalog::builtin();
  const Spec units = Spec::map().set("units", 3);
  std::vector<LayerNode> layers(1);
  layers[0].kind = "dense";
  layers[0].layer = catalog.layers.make({"dense", units}, units);
  return Model::build({.layers = std::move(layers), .inputs = {{"features", {{2}, DType::f32}}}, .seed = 9}, context);
}

TEST(SavedModel, HoldsParametersAndConfiguration) {
  const TempFolder folder;
  Executor executor(1);
  Context context(Device::cpu(), executor);
  Model model = make_model(context);
  pack_model(folder.path("m.safetensors"), model, context, {.config = Spec::map().set("seed", 9)}).write();

  const ModelFile file = ModelFile::read(folder.path("m.safetensors"));
  ASSERT_EQ(file.entries().size(), 2u);
  EXPECT_EQ(file.entries()[0].name, "dense.weight");
  EXPECT_EQ(file.entries()[0].spec, (TensorSpec{{3, 2}, DType::f32}));
  EXPECT_EQ(file.entries()[1].name, "dense.bias");
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(file.values(file.entries()[0]).as<float>()[i], model.parameter(0).as<float>()[i]);
  }
  EXPECT_EQ(parse_yaml(file.metadata().at("config"), "saved").find("seed")->as_int(), 9);
}

TEST(SavedModel, HashIsOfTheParametersInOrder) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  Model model = make_model(context);
  Sha256 expected;
  expected.update({static_cast<const std::byte*>(model.parameter(0).data()), 6 * sizeof(float)});
  expected.update({static_cast<const std::byte*>(model.parameter(1).data()), 3 * sizeof(float)});
  const std::string hash = weights_hash(model, context);
  EXPECT_EQ(hash, expected.hex());
  model.parameter(1).as<float>()[2] += 1;
  EXPECT_NE(weights_hash(model, context), hash);
}

// Keeps a weight of three numbers, so that parameters are padded, and a state of two.
struct Keeper final : Layer {
  explicit Keeper(int64_t size) : size_(size) {}
  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder& params) override {
    params.parameter("weight", Shape{size_}, Initializer::constant(1));
    params.state("mean", Shape{2}, {});
    return inputs[0];
  }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs&) const override { return nullptr; }

  int64_t size_;
};

class SavedModelTest : public testing::Test {
 protected:
  Model model_of(std::vector<std::pair<std::string, int64_t>> layers, DType dtype = DType::f32) {
    ModelArgs args;
    args.inputs = {{"features", {Shape{4}, dtype}}};
    args.dtype = dtype;
    for (auto& [name, size] : layers)
      args.layers.push_back({name, "keeper", std::make_unique<Keeper>(size), {}, Spec::map()});
    return Model::build(std::move(args), context_);
  }

  std::string save(Model& model) {
    const std::string path = folder_.path("m.safetensors");
    pack_model(path, model, context_, {.config = parse_yaml("seed: 5\nmodel: [keeper]\n", "f")}).write();
    return path;
  }

  TempFolder folder_;
  Executor executor_{1};
  Context context_{Device::cpu(), executor_};
};

// Two slots whose values say which they are.
class SlotsTest : public SavedModelTest {
 protected:
  SlotsTest() : model_(model_of({{"first", 3}, {"second", 17}})) {
    for (int slot = 0; slot < 2; ++slot) {
      blocks_.emplace_back(Device::cpu(), model_.parameter_block().spec());
      TensorView view = blocks_.back().view();
      for (int64_t i = 0; i < view.elements(); ++i) view.as<float>()[i] = static_cast<float>(100 * (slot + 1) + i);
    }
  }
  OptimizerState state(std::vector<Tensor>& blocks) const {
    OptimizerState out{.kind = "adam", .steps = 12, .updates = 6, .slots = {}};
    for (Tensor& block : blocks) out.slots.push_back(block.view());
    return out;
  }
  std::string save_all() {
    const std::string path = folder_.path("m.safetensors");
    const OptimizerState saved = state(blocks_);
    pack_model(path, model_, context_, {.config = parse_yaml("seed: 5\n", "f"), .optimizer = &saved}).write();
    return path;
  }
  std::string load_error(const std::string& path, OptimizerState to) {
    try {
      load_optimizer(ModelFile::read(path), model_, context_, to);
    } catch (const DataError& error) {
      return error.message() + (error.hint().empty() ? "" : "; " + error.hint());
    }
    return "no error";
  }

  Model model_;
  std::vector<Tensor> blocks_;
};

TEST_F(SlotsTest, ComeBackIntoTheirPlaces) {
  const ModelFile file = ModelFile::read(save_all());
  std::vector<Tensor> blocks;
  for (int slot = 0; slot < 2; ++slot) blocks.emplace_back(Device::cpu(), model_.parameter_block().spec());
  OptimizerState loaded = state(blocks);
  loaded.steps = loaded.updates = 0;
  load_optimizer(file, model_, context_, loaded);
  EXPECT_EQ(loaded.steps, 12u);
  EXPECT_EQ(loaded.updates, 6u);
  for (size_t slot = 0; slot < 2; ++slot) {
    for (const Parameter& parameter : model_.parameters()) {
      const auto first = static_cast<int64_t>(parameter.offset / sizeof(float));
      for (int64_t i = first; i < first + parameter.shape.elements(); ++i) {
        EXPECT_EQ(blocks[slot].view().as<float>()[i], blocks_[slot].view().as<float>()[i]) << slot << ' ' << i;
      }
    }
  }
  load_model(file, model_, context_);
}

TEST_F(SlotsTest, AreOfOneKindOfOptimizer) {
  OptimizerState other = state(blocks_);
  other.kind = "rmsprop";
  EXPECT_EQ(load_error(save_all(), other),
            "the saved model does not fit: it holds the state of \"adam\", the optimizer is rmsprop");
  EXPECT_EQ(load_error(save(model_), state(blocks_)),
            "the saved model does not fit: it holds no state of an optimizer; save it with save: {file: .., optimizer: "
            "true}");
  std::vector<Tensor> one;
  one.emplace_back(Device::cpu(), model_.parameter_block().spec());
  EXPECT_EQ(load_error(save_all(), state(one)),
            "the saved model does not fit: it holds more state of adam than its options keep: "
            "\"optimizer/1/first.weight\"; give it the options that it was saved with");
  std::vector<Tensor> three;
  for (int slot = 0; slot < 3; ++slot) three.emplace_back(Device::cpu(), model_.parameter_block().spec());
  EXPECT_EQ(load_error(save_all(), state(three)),
            "the saved model does not fit: it has no optimizer/2/first.weight; it has optimizer/0/first.weight");
}

TEST_F(SlotsTest, CountsThatAreNoNumbersAreErrors) {
  const std::string path = folder_.path("m.safetensors");
  ModelFile(path, {{"optimizer", "adam"}, {"steps", "12x"}, {"updates", "6"}}).write();
  EXPECT_EQ(load_error(path, state(blocks_)),
            "the saved model does not fit: its metadata's steps is \"12x\", expected a number");
}

TEST_F(SavedModelTest, SavedWeightsLoadIntoAnEqualModel) {
  Model model = model_of({{"a", 3}, {"b", 2}});
  model.parameter(0).as<float>()[1] = 7;
  model.parameter(1).as<float>()[0] = -8;
  model.state(1).as<float>()[1] = 9;
  const ModelFile file = ModelFile::read(save(model));
  ASSERT_EQ(file.entries().size(), 4u);
  EXPECT_EQ(file.entries()[0].name, "a.weight");
  EXPECT_EQ(file.entries()[1].name, "b.weight");
  EXPECT_EQ(file.entries()[2].name, "a.mean");

  Model other = model_of({{"a", 3}, {"b", 2}});
  load_model(file, other, context_);
  EXPECT_EQ(weights_hash(other, context_), weights_hash(model, context_));
  EXPECT_EQ(other.state(1).as<float>()[1], 9);
  EXPECT_EQ(saved_config(file).find("seed")->as_int(), 5);
  EXPECT_EQ(file.metadata().at("version"), version());
}

TEST_F(SavedModelTest, AModelThatDoesNotFitIsLeftAlone) {
  Model model = model_of({{"a", 3}, {"b", 2}});
  model.parameter(0).as<float>()[0] = 7;
  const std::string path = save(model);
  const ModelFile file = ModelFile::read(path);
  const auto rejects = [&](std::vector<std::pair<std::string, int64_t>> layers, DType dtype = DType::f32) {
    Model other = model_of(std::move(layers), dtype);
    const std::string before = weights_hash(other, context_);
    const std::string text = error_of<DataError>([&] { load_model(file, other, context_); });
    EXPECT_EQ(weights_hash(other, context_), before);
    const std::string start = path + ": the saved model does not fit: ";
    return text.starts_with(start) ? text.substr(start.size()) : text;
  };
  EXPECT_EQ(rejects({{"a", 3}, {"b", 4}}), "b.weight is float32 (2), the model has float32 (4)");
  EXPECT_EQ(rejects({{"a", 3}, {"c", 2}}), "it has no c.weight; it has a.weight");
  EXPECT_EQ(rejects({{"a", 3}}), "it also has \"b.weight\"");
  EXPECT_EQ(rejects({{"a", 3}, {"b", 2}}, DType::f64), "a.weight is float32 (3), the model has float64 (3)");
}

TEST_F(SavedModelTest, TheStateOfAnOptimizerIsNoPartOfTheModel) {
  constexpr float kValues[] = {1, 2, 3};
  const std::string path = folder_.path("m.safetensors");
  ModelFile file(path);
  const TensorView weight = file.add("a.weight", {Shape{3}, DType::f32});
  std::copy_n(kValues, 3, weight.as<float>());
  file.add("a.mean", {Shape{2}, DType::f32});
  file.add("optimizer/momentum/a.weight", {Shape{3}, DType::f32});
  file.write();
  Model model = model_of({{"a", 3}});
  load_model(ModelFile::read(path), model, context_);
  EXPECT_EQ(model.parameter(0).as<float>()[2], 3);
}

TEST_F(SavedModelTest, WhatATrainingKeepsIsNoPartOfTheModel) {
  Model model = model_of({{"a", 3}});
  for (const char* name : {"state", "best/a.weight", "gradients/a.weight", "before/a.mean", "optimizer/0/a.weight"}) {
    EXPECT_TRUE(is_of_training(name)) << name;
    ModelFile file = ModelFile::read(save(model));
    file.add(name, {Shape{3}, DType::u8});
    EXPECT_NO_THROW(load_model(file, model, context_)) << name;
  }
  for (const char* name : {"states", "best", "a.state", "abest/a.weight", "a.weight", ""}) {
    EXPECT_FALSE(is_of_training(name)) << name;
  }
}

TEST_F(SavedModelTest, AModelThatDoesNotFitTakesNoMemory) {
  Model model = model_of({{"a", 3}});
  const ModelFile file = ModelFile::read(save(model));
  constexpr int64_t kTooLarge = int64_t{1} << 50;
  const auto build = [&](int64_t size) {
    ModelArgs args;
    args.inputs = {{"features", {Shape{4}, DType::f32}}};
    args.layers.push_back({"a", "keeper", std::make_unique<Keeper>(size), {}, Spec::map()});
    args.check = [&](const Model& declared) { check_saved_model(file, declared); };
    Model::build(std::move(args), context_);
  };
  EXPECT_NO_THROW(build(3));
  EXPECT_EQ(error_of<DataError>([&] { build(kTooLarge); }),
            file.path() +
                ": the saved model does not fit: a.weight is float32 (3), the model has float32 "
                "(1125899906842624)");
}

TEST_F(SavedModelTest, AForeignFileHasNoConfiguration) {
  const std::string path = folder_.path("m.safetensors");
  ModelFile(path).write();
  EXPECT_EQ(error_of<DataError>([&] { saved_config(ModelFile::read(path)); }),
            path + ": the model file holds no configuration; it was not written by `save`");
}

TEST(RowSpecText, ReadsWhatItWrote) {
  const RowSpec rows{{{"features", DType::f32, Shape{28, 28}},
                      {"a: \"name\" #1", DType::i64, Shape{1}},
                      {"words", DType::f32, Shape{1}, true, {}},
                      {"tags", DType::i32, Shape{1}, false, '|'}}};
  EXPECT_EQ(read_row_spec(row_spec_text(rows), "m:rows"), rows);
  EXPECT_EQ(read_row_spec(row_spec_text({}), "m:rows"), RowSpec{});
}

TEST(RowSpecText, RefusesWhatItDidNot) {
  const auto error = [](const std::string& text) {
    return error_of<ConfigError>([&] { read_row_spec(text, "m:rows"); });
  };
  EXPECT_EQ(error("{}"), "m:rows:1:1: expected a list, got a map");
  EXPECT_EQ(error("- {name: a, type: float16, shape: [1]}"), "m:rows:1:3: [0]: unknown type \"float16\"");
  EXPECT_EQ(error("- {name: a, type: float32, shape: [1], split: ab}"), "m:rows:1:3: [0]: split is one byte");
  EXPECT_EQ(error("- {name: a, type: int32, shape: [1]}\n- {name: a, type: int32, shape: [1]}"),
            "m:rows:2:3: [1]: the field \"a\" is listed twice");
  EXPECT_NE(error("- {name: a, type: int32, shape: [-1]}").find("-1"), std::string::npos);
  EXPECT_NE(error("- {name: a, type: int32, shape: [1, 1, 1, 1, 1, 1, 1]}").find("6"), std::string::npos);
  const std::string huge = "type: float64, shape: [576460752303423488]}\n";
  EXPECT_NE(
      error(cat("- {name: a, ", huge, "- {name: b, ", huge, "- {name: c, ", huge, "- {name: d, ", huge)).find("bytes"),
      std::string::npos);
  EXPECT_NE(error("- {type: int32, shape: [1]}").find("name"), std::string::npos);
}

}  // namespace
}  // namespace millrace
