// The 1024 -> 1024 -> 1 network with a batch of random rows: a step that waits for no input.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "bench/budgets/texts.h"
#include "millrace/core/text.h"
#include "millrace/layers/catalog.h"
#include "millrace/trainer/step/step.h"

namespace millrace::bench {

inline constexpr int64_t kUnits = 1024;

class Network {
 public:
  Network(Context& context, int64_t batch) : model_(make_model(context)), batch_size_(batch) {
    loss_ = catalog_.losses.make({"sigmoid_cross_entropy", Spec::map()}, Spec::map());
    const Spec options = Spec::map().set("learning_rate", 0.01);
    sgd_ = catalog_.optimizers.make({"sgd", options}, options);
    metrics_.push_back({"accuracy", catalog_.metrics.make({"accuracy", Spec::map()}, Spec::map())});
    StepArgs args{.model = model_, .context = context, .loss = *loss_, .optimizer = *sgd_, .rows = rows_};
    args.metrics = &metrics_;
    step_ = TrainStep::make(args);
    step_->prepare(batch);
    fill();
  }

  void step() { step_->run(batch_); }

 private:
  Model make_model(Context& context) {
    std::vector<LayerNode> layers;
    for (const int64_t units : {kUnits, int64_t{1}}) {
      Spec options = Spec::map().set("units", units);
      if (units > 1) options.set("activation", "relu");
      layers.emplace_back();
      layers.back().name = cat("dense_", layers.size());
      layers.back().kind = "dense";
      layers.back().layer = catalog_.layers.make({"dense", options}, options);
    }
    return Model::build({.layers = std::move(layers), .inputs = {{"features", {{kFeatures}, DType::f32}}}, .seed = 23},
                        context);
  }

  void fill() {
    std::mt19937_64 random(1);
    std::normal_distribution<float> normal;
    batch_.configure(rows_, batch_size_);
    batch_.resize(batch_size_);
    for (int64_t row = 0; row < batch_size_; ++row) {
      float sum = 0;
      for (int i = 0; i < kFeatures; ++i) sum += batch_.row<float>(0, row)[i] = normal(random);
      batch_.row<float>(1, row)[0] = sum > 0 ? 1.0f : 0.0f;
    }
  }

  LayerCatalog catalog_ = LayerCatalog::builtin();
  RowSpec rows_{{{"features", DType::f32, {kFeatures}}, {"label", DType::f32, {1}}}};
  Model model_;
  int64_t batch_size_;
  std::unique_ptr<Loss> loss_;
  std::unique_ptr<Optimizer> sgd_;
  std::vector<NamedMetric> metrics_;
  std::unique_ptr<TrainStep> step_;
  RowBlock batch_;
};

}  // namespace millrace::bench
