// The configuration's list of ops: reading it, naming the ops, and writing it back with every option.
#pragma once

#include <vector>

#include "millrace/core/spec.h"
#include "millrace/input/graph/graph_impl.h"
#include "millrace/input/op.h"

namespace millrace {

// The keys that every op has besides its own options.
std::vector<OptionInfo> describe_graph_keys();

// The ops of `list`, made and named but not connected; `resolved` receives the list with all names and options.
// Throws ConfigError.
std::vector<GraphNode> read_graph_list(const Spec& list, const OpRegistry& registry, Spec& resolved);

// The names in the value of a key that is used as OptionUse::fields.
std::vector<std::string> listed_fields(const Spec& fields);

// "batch_1.batch_size = 23" for every option that decides which rows come and in what order, one line each. Options
// that only decide how fast they come are left out.
std::vector<std::string> fingerprint(const GraphImpl& graph);

}  // namespace millrace
