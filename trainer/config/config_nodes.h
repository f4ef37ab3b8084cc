// The parts of a configuration that name kinds: layers, loss, metrics and optimizer.
//
// Each function makes the objects and gives, in `resolved`, the same node with every option. Throws ConfigError.
#pragma once

#include <memory>
#include <vector>

#include "millrace/core/spec.h"
#include "millrace/trainer/config/config.h"

namespace millrace {

std::vector<LayerNode> read_layers(const Spec& list, const LayerRegistry& registry, Spec& resolved);
LossConfig read_loss(const Spec& node, const LossRegistry& registry, Spec& resolved);
// `list` may also be one metric. If a kind is there more than once, the later ones are named accuracy_2, ...
std::vector<NamedMetric> read_metrics(const Spec& list, const MetricRegistry& registry, Spec& resolved);
std::unique_ptr<Optimizer> read_optimizer(const Spec& node, const OptimizerRegistry& registry, Spec& resolved);

// The keys that every layer or loss has besides its kind's own options.
std::vector<OptionInfo> describe_layer_keys();
std::vector<OptionInfo> describe_loss_keys();

// The form of a list of kinds; `sort` is what their registry calls one of them: "layer", "input op".
OptionForm list_of_kinds(std::string sort);

}  // namespace millrace
