// What a step of dense(1) on two features with mse is made of; with `hidden` units behind a rectifier in front of it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/layers/catalog.h"
#include "millrace/trainer/step/step_plan.h"

namespace millrace::testing {

class PlannedStep {
 public:
  PlannedStep(Context& on, size_t slots, int64_t hidden = 0,
              GradientTarget gradient_target = GradientTarget::block_write)
      : context(on),
        model(make_model(on, hidden)),
        loss(catalog.losses.make({"mse", Spec::map()}, Spec::map())),
        fields({.model = model, .rows = rows, .loss = loss.get(), .label = "label", .trains = true}),
        scores({.context = on, .loss = *loss, .prediction = model.output(), .label = fields.label()}),
        sgd(optimizer()),
        plan({.model = model,
              .context = on,
              .optimizer = *sgd,
              .fields = fields,
              .scores = scores,
              .gradient_target = gradient_target,
              .slots = slots},
             4) {}

  std::unique_ptr<Optimizer> optimizer(const std::string& kind = "sgd", double learning_rate = 0.05) const {
    const Spec options = Spec::map().set("learning_rate", learning_rate);
    return catalog.optimizers.make({kind, options}, options);
  }

  Model make_model(Context& on, int64_t hidden) {
    std::vector<LayerNode> layers;
    const auto add = [&](const char* name, const Spec& options) {
      layers.emplace_back();
      layers.back().name = name;
      layers.back().kind = "dense";
      layers.back().layer = catalog.layers.make({"dense", options}, options);
    };
    if (hidden > 0) add("hidden", Spec::map().set("units", hidden).set("activation", "relu"));
    add("dense", Spec::map().set("units", 1));
    return Model::build({.layers = std::move(layers), .inputs = {{"features", {{2}, DType::f32}}}, .seed = 3}, on);
  }

  Context& context;
  LayerCatalog catalog = LayerCatalog::builtin();
  RowSpec rows{{{"features", DType::f32, {2}}, {"label", DType::f32, {1}}}};
  Model model;
  std::unique_ptr<Loss> loss;
  StepFields fields;
  Scores scores;
  std::unique_ptr<Optimizer> sgd;
  StepPlan plan;
};

}  // namespace millrace::testing
