#include "millrace/cli/speed/op_list.h"

#include <vector>

#include "millrace/trainer/config/overrides.h"

namespace millrace {

void for_each_op(const Spec& config,
                 const std::function<void(const std::string&, const std::string&, const Spec&)>& body) {
  const Spec* list = config.find("input");
  if (list == nullptr || !list->is_list()) return;
  const std::vector<std::string> names = item_names(*list);
  for (size_t i = 0; i < list->size(); ++i) {
    const Spec& item = list->items()[i];
    if (!item.is_map() || item.size() != 1 || !item.entries()[0].second.is_map()) continue;
    body(names[i], item.entries()[0].first, item.entries()[0].second);
  }
}

}  // namespace millrace
