// Finds out which op of a list reads which, and checks that their ports fit.
#pragma once

#include <vector>

#include "millrace/input/graph/graph_list.h"
#include "millrace/input/op.h"

namespace millrace {

// Finds the inputs of every op: those that `from` names, else the op before. Throws ConfigError if an op takes another
// number of inputs, or if an output does not go to exactly one op. Only the last op's output goes to none.
void connect_ops(std::vector<GraphNode>& nodes, const OpRegistry& registry);

// The ports that a connected op reads, whose inputs are bound. Throws ConfigError if the op does not take one of them.
std::vector<Port> ports_of(const GraphNode& node, const std::vector<GraphNode>& nodes, const OpRegistry& registry);

}  // namespace millrace
