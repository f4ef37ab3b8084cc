// The ops of a configuration's input list, for code that diagnoses them.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "millrace/input/graph/graph_list.h"

namespace millrace {

struct ListedOp {
  const GraphNode& node;
  const Spec& options;  // all its options, also those that are not written

  // The number under the op's key whose use is `use`; absent if the op has no such key, or the key has no value.
  std::optional<int64_t> number(OptionUse use) const;
  // The same, but absent unless the key decides only how fast results come (OptionReader::only_speed()).
  std::optional<int64_t> knob(OptionUse use) const;
  // "input.shuffle_batch.threads", as --set takes it. REQUIRES: there is such a key.
  std::string key(OptionUse use) const;
};

// Calls body(op) for each op of the list `input`, in order. Throws ConfigError.
void for_each_op(const Spec& config, const OpRegistry& registry, const std::function<void(const ListedOp&)>& body);

}  // namespace millrace
