#include "millrace/trainer/weights.h"

#include <cmath>

#include "millrace/trainer/sha256.h"
#include "millrace/trainer/yaml.h"
#include "tests/trainer/temp_folder.h"

namespace millrace {
namespace {

// Keeps a weight of three numbers, so that parameters are padded, and a state of two.
struct Keeper final : Layer {
  explicit Keeper(int64_t size) : size_(size) {}
  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder& params) override {
    params.parameter("weight", Shape{size_}, {Initializer::Kind::ones});
    params.state("mean", Shape{2}, {});
    return inputs[0];
  }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs&) const override { return nullptr; }

  int64_t size_;
};

class WeightsTest : public testing::Test {
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
    save_weights(path, model, context_, parse_yaml("seed: 5\nmodel: [keeper]\n", "f"));
    return path;
  }

  TempFolder folder_;
  Executor executor_{1};
  Context context_{Device::cpu(), executor_};
};

TEST_F(WeightsTest, TheHashIsOverTheNumbersWithoutPadding) {
  Model model = model_of({{"a", 3}, {"b", 1}});
  auto* a = model.parameter(0).as<float>();
  a[0] = 1.5f, a[1] = -2, a[2] = 0.25f;
  const float expected[] = {1.5f, -2, 0.25f, 1};
  Sha256 hash;
  hash.update(std::as_bytes(std::span(expected)));
  EXPECT_EQ(hash_weights(model, context_), hash.hex());
  // State is no weight.
  model.state(0).as<float>()[0] = 9;
  EXPECT_EQ(hash_weights(model, context_), hash.hex());
  a[2] = 0.5f;
  EXPECT_NE(hash_weights(model, context_), hash.hex());

  Model wide = model_of({{"a", 3}, {"b", 1}}, DType::f64);
  auto* w = wide.parameter(0).as<double>();
  w[0] = 1.5, w[1] = -2, w[2] = 0.25;
  EXPECT_EQ(hash_weights(wide, context_), hash.hex());
}

TEST_F(WeightsTest, SavedWeightsLoadIntoAnEqualModel) {
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
  load_weights(file, other, context_);
  EXPECT_EQ(hash_weights(other, context_), hash_weights(model, context_));
  EXPECT_EQ(other.state(1).as<float>()[1], 9);
  EXPECT_EQ(saved_config(file).find("seed")->as_int(), 5);
  EXPECT_FALSE(file.metadata().at("millrace").empty());
}

TEST_F(WeightsTest, AModelThatDoesNotFitIsLeftAlone) {
  Model model = model_of({{"a", 3}, {"b", 2}});
  model.parameter(0).as<float>()[0] = 7;
  const std::string path = save(model);
  const ModelFile file = ModelFile::read(path);
  const auto rejects = [&](std::vector<std::pair<std::string, int64_t>> layers, DType dtype = DType::f32) {
    Model other = model_of(std::move(layers), dtype);
    const std::string before = hash_weights(other, context_);
    const std::string text = error_of<DataError>([&] { load_weights(file, other, context_); });
    EXPECT_EQ(hash_weights(other, context_), before);
    const std::string start = path + ": the saved model does not fit: ";
    return text.starts_with(start) ? text.substr(start.size()) : text;
  };
  EXPECT_EQ(rejects({{"a", 3}, {"b", 4}}), "b.weight is float32 (2), the model has float32 (4)");
  EXPECT_EQ(rejects({{"a", 3}, {"c", 2}}), "it has no c.weight; it has a.weight");
  EXPECT_EQ(rejects({{"a", 3}}), "it also has \"b.weight\"");
  EXPECT_EQ(rejects({{"a", 3}, {"b", 2}}, DType::f64), "a.weight is float32 (3), the model has float64 (3)");
}

TEST_F(WeightsTest, AForeignFileHasNoConfiguration) {
  const std::string path = folder_.path("m.safetensors");
  write_model_file(path, {}, {});
  EXPECT_EQ(error_of<DataError>([&] { saved_config(ModelFile::read(path)); }),
            path + ": the model file holds no configuration; it was not written by `save`");
}

}  // namespace
}  // namespace millrace
