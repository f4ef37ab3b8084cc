// Models from terse descriptions, with the built-in layers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "millrace/layers/catalog.h"
#include "millrace/layers/model/model.h"

namespace millrace::testing {

struct LayerLine {
  std::string kind;
  Spec options = Spec::map();
  std::vector<std::string> from = {};
  std::string name = {};
};

inline Spec dense_units(int units, const char* activation = "none") {
  return Spec::map().set("units", units).set("activation", activation);
}

// The nodes that the configuration `net.yaml` would give: layer i stands in line i + 1.
inline std::vector<LayerNode> layer_nodes(const std::vector<LayerLine>& lines,
                                          const LayerCatalog& catalog = LayerCatalog::builtin()) {
  std::vector<LayerNode> nodes;
  for (size_t i = 0; i < lines.size(); ++i) {
    LayerNode node;
    node.name = lines[i].name;
    node.kind = lines[i].kind;
    node.from = lines[i].from;
    node.layer = catalog.layers.make({lines[i].kind, lines[i].options}, lines[i].options);
    node.spec = Spec::map(Place{"net.yaml", static_cast<int64_t>(i) + 1, 5});
    node.spec.set_path(cat("model[", i, "].", lines[i].kind));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

inline std::vector<NamedSpec> features(const Shape& row, DType dtype = DType::f32) {
  return {{"features", {row, dtype}}, {"label", {Shape{1}, DType::f32}}};
}

inline Model build_model(Context& context, const std::vector<LayerLine>& lines, std::vector<NamedSpec> fields,
                         DType dtype = DType::f32, uint64_t seed = 23,
                         const LayerCatalog& catalog = LayerCatalog::builtin()) {
  return Model::build(
      {.layers = layer_nodes(lines, catalog), .inputs = std::move(fields), .seed = seed, .dtype = dtype}, context);
}

}  // namespace millrace::testing
