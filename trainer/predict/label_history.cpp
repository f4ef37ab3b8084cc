#include "millrace/trainer/predict/label_history.h"

#include "millrace/input/graph/graph_list.h"

namespace millrace {

FieldHistory label_history(const Config& config, const OpRegistry& registry) {
  Spec resolved;
  const std::vector<GraphNode> nodes = read_graph_list(config.input, registry, resolved);
  FieldHistory history{.field = config.loss.label};
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    if (node->transform != nullptr) node->transform->undo(history);
  }
  return history;
}

}  // namespace millrace
