#include "millrace/trainer/config/config_nodes.h"

#include <algorithm>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/trainer/config/overrides.h"

namespace millrace {

namespace {

struct LayerKeys {
  std::optional<std::string> name;
  std::optional<std::vector<std::string>> from;

  void declare(OptionReader& o) {
    o.optional("from", from, "the layers or fields that it reads; by default the layer before it");
    o.optional("name", name, "its name for other layers; by default the kind");
  }
};

struct LossKeys {
  std::string from = "label";
  std::optional<std::string> weight;

  void declare(OptionReader& o) {
    o.optional("from", from, "the field that the prediction is compared with");
    o.optional(
        "weight", weight,
        "a field with the weight of each row, 0 or from 1e-20 to 1e+20, as only ratios matter; a row of weight 0 "
        "does not count, whatever its label; if no row counts, loss and metrics are nan");
  }
};

template <class Keys, class Base>
struct Made {
  Keys keys;
  std::unique_ptr<Base> object;
  std::string kind;
  Spec resolved;  // every option of the kind, then the keys of the node itself
};

// Makes the object that `node` names. `Keys` are read, and removed from the kind's own options.
template <class Keys, class Base>
Made<Keys, Base> make_node(const Spec& node, const Registry<Base>& registry, std::string_view what) {
  KindAndOptions wanted = registry.read(node, what);
  const std::vector<OptionInfo> common = describe_options<Keys>(), own = registry.options_of(wanted.kind, node);
  std::vector<OptionInfo> known = own;
  known.insert(known.end(), common.begin(), common.end());
  check_keys(wanted.options, known);

  Spec node_part = Spec::map(wanted.options.place());
  node_part.set_path(wanted.options.path());
  for (const OptionInfo& info : common) {
    const Spec* value = std::as_const(wanted.options).find(info.name);
    if (value == nullptr || std::ranges::find(own, info.name, &OptionInfo::name) != own.end()) continue;
    node_part.set(info.name, *value);
    wanted.options.erase(info.name);
  }
  Spec resolved_keys, options;
  Keys keys = read_options<Keys>(node_part, &resolved_keys);
  std::unique_ptr<Base> object = registry.make(wanted, node, &options);
  for (const auto& [key, value] : resolved_keys.entries()) options.set(key, value);
  Spec resolved = options.size() == 0 ? Spec::scalar(wanted.kind, false, options.place()) : Spec::map(options.place());
  if (resolved.is_map()) resolved.set(wanted.kind, std::move(options));
  return {std::move(keys), std::move(object), std::move(wanted.kind), std::move(resolved)};
}

}  // namespace

std::vector<OptionInfo> describe_layer_keys() { return describe_options<LayerKeys>(); }
std::vector<OptionInfo> describe_loss_keys() { return describe_options<LossKeys>(); }

OptionForm list_of_kinds(std::string sort) {
  OptionForm kind{.is = OptionForm::Is::kind, .sort = std::move(sort)};
  return {.is = OptionForm::Is::list, .items = {std::move(kind)}, .not_empty = true};
}

std::vector<LayerNode> read_layers(const Spec& list, const LayerRegistry& registry, Spec& resolved) {
  if (list.items().empty()) throw list.error("the model has no layers", "for example `- dense: {units: 1}`");
  resolved = Spec::list(list.place());
  std::vector<LayerNode> layers;
  for (const Spec& item : list.items()) {
    auto made = make_node<LayerKeys>(item, registry, "a layer");
    const LayerKeys& keys = made.keys;
    if (keys.from && keys.from->empty()) {
      throw item.error("from names nothing", "leave it out to read the layer before");
    }
    resolved.append(std::move(made.resolved));
    layers.push_back({keys.name.value_or(std::string()), std::move(made.kind), std::move(made.object),
                      keys.from.value_or(std::vector<std::string>()), item});
  }
  return layers;
}

LossConfig read_loss(const Spec& node, const LossRegistry& registry, Spec& resolved) {
  auto made = make_node<LossKeys>(node, registry, "a loss");
  resolved = std::move(made.resolved);
  return {std::move(made.object), std::move(made.kind), made.keys.from, made.keys.weight.value_or(std::string()), node};
}

std::vector<NamedMetric> read_metrics(const Spec& list, const MetricRegistry& registry, Spec& resolved) {
  Spec metrics = list;
  if (!list.is_list()) {
    metrics = Spec::list(list.place()).append(list);
    metrics.set_path(list.path());
  }
  resolved = Spec::list(list.place());
  const std::vector<std::string> names = item_names(metrics);
  std::vector<NamedMetric> out;
  for (size_t i = 0; i < metrics.size(); ++i) {
    auto made = make_node<NoOptions>(metrics.items()[i], registry, "a metric");
    resolved.append(std::move(made.resolved));
    out.push_back({names[i], std::move(made.object)});
  }
  return out;
}

std::unique_ptr<Optimizer> read_optimizer(const Spec& node, const OptimizerRegistry& registry, Spec& resolved) {
  auto made = make_node<NoOptions>(node, registry, "an optimizer");
  resolved = std::move(made.resolved);
  return std::move(made.object);
}

}  // namespace millrace
