#include "millrace/trainer/input/op_list.h"

#include <vector>

#include "millrace/core/text.h"

namespace millrace {

std::optional<int64_t> ListedOp::number(OptionUse use) const {
  const OptionInfo* info = option_of(node, use);
  const Spec* value = info != nullptr ? options.find(info->name) : nullptr;
  return value != nullptr ? std::optional(value->as_int()) : std::nullopt;
}

std::optional<int64_t> ListedOp::knob(OptionUse use) const {
  const OptionInfo* info = option_of(node, use);
  return info != nullptr && info->only_speed ? number(use) : std::nullopt;
}

std::string ListedOp::key(OptionUse use) const { return cat("input.", node.name, '.', option_of(node, use)->name); }

void for_each_op(const Spec& config, const OpRegistry& registry, const std::function<void(const ListedOp&)>& body) {
  const Spec* list = config.find("input");
  if (list == nullptr || !list->is_list()) return;
  Spec resolved;
  const std::vector<GraphNode> nodes = read_graph_list(*list, registry, resolved);
  for (size_t i = 0; i < nodes.size(); ++i) body({nodes[i], resolved.items()[i].entries().front().second});
}

}  // namespace millrace
