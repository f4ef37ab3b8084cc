#include "millrace/input/graph/connections.h"

#include <algorithm>
#include <string>

#include "millrace/core/text.h"

namespace millrace {

namespace {

bool fits(const GraphNode& node, PortType expected, PortType got) {
  return expected == got || (node.transform != nullptr && expected == PortType::rows && got == PortType::batches);
}

// A hint what to change if `node` expects an earlier port than the op before it gives.
std::string too_far_hint(const GraphNode& node, const GraphNode& before, const std::vector<GraphNode>& nodes) {
  if (node.row_buffer == nullptr && node.batch_buffer == nullptr) {
    return cat("remove ", node.name, ": ", before.name, " gives ", to_string(before.output.type), " already");
  }
  // Transforms may stand after the op that makes the batches.
  const GraphNode* batching = &before;
  while (batching->batch_buffer == nullptr) batching = &nodes[batching->inputs.front()];
  return node.batch_buffer != nullptr ? cat("one op makes the batches: remove ", batching->name, " or ", node.name)
                                      : cat("put ", node.name, " before ", batching->name);
}

// What to put before `node`, which gets less than it expects: what its kind says itself ("after image_folder"), or
// kinds that lead there.
std::string missing_hint(const GraphNode& node, PortType got, PortType expected, std::string_view where,
                         const OpRegistry& registry) {
  constexpr std::string_view kAfter = "after ";
  const std::string_view leads = registry.entries().at(node.kind).leads;
  return leads.starts_with(kAfter) ? cat("begin the list with ", leads.substr(kAfter.size()))
                                   : kinds_hint(registry, got, expected, "put ", where);
}

void check_port(const GraphNode& node, PortType expected, const GraphNode& before, const std::vector<GraphNode>& nodes,
                const OpRegistry& registry) {
  const PortType got = before.output.type;
  if (fits(node, expected, got)) return;
  throw node.spec.error(
      cat(node.name, " expects ", to_string(expected), ", but ", before.name, " gives ", to_string(got)),
      got > expected ? too_far_hint(node, before, nodes)
                     : missing_hint(node, got, expected, " between them", registry));
}

size_t find_input(const std::vector<GraphNode>& nodes, size_t user, const std::string& name) {
  // From the end, as the op that is named is usually near.
  for (size_t i = user; i-- > 0;) {
    if (nodes[i].name == name) return i;
  }
  if (nodes[user].name == name) {
    throw nodes[user].spec.error(cat(name, " takes from itself"),
                                 "name an op above it, or leave from out: then it takes from the op before it");
  }
  if (std::ranges::find(nodes, name, &GraphNode::name) != nodes.end()) {
    throw nodes[user].spec.error(cat(nodes[user].name, " takes from ", name, ", which does not stand before it"),
                                 "move it up: an op takes from ops above it");
  }
  std::vector<std::string> earlier;
  for (size_t i = 0; i < user; ++i) earlier.push_back(nodes[i].name);
  const std::string near = nearest(name, earlier);
  throw nodes[user].spec.error(
      cat(nodes[user].name, " takes from ", quote(name), ", but no op has that name"),
      near.empty() ? cat("the ops above it are ", join(earlier)) : cat("did you mean ", near, "?"));
}

// The port of each input. An op that joins has as many as `from` names.
std::vector<PortType> wanted_ports(const GraphNode& node) {
  std::vector<PortType> wanted = node.ports;
  if (!node.joins) return wanted;
  if (node.from.size() < 2) {
    throw node.spec.error(cat(node.name, " joins at least two inputs, got ", std::max<size_t>(node.from.size(), 1)),
                          "name them in from: [a, b]");
  }
  wanted.resize(node.from.size(), wanted.front());
  return wanted;
}

// Finds the inputs of every op.
void find_inputs(std::vector<GraphNode>& nodes, const OpRegistry& registry) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    GraphNode& node = nodes[i];
    const std::vector<PortType> wanted = wanted_ports(node);
    for (const std::string& name : node.from) node.inputs.push_back(find_input(nodes, i, name));
    if (node.from.empty() && wanted.size() == 1) {
      if (i == 0) {
        throw node.spec.error(cat(node.name, " expects ", to_string(wanted[0]), ", but no op stands before it"),
                              missing_hint(node, PortType::none, wanted[0], " before it", registry));
      }
      node.inputs.push_back(i - 1);
    }
    if (node.inputs.size() != wanted.size()) {
      throw node.spec.error(
          cat(node.name, " takes ", wanted.empty() ? "no input" : count_of(std::ssize(wanted), "input"), ", got ",
              node.inputs.size()),
          wanted.empty() ? "" : "name them in from: [a, b]");
    }
  }
}

// Every output but the last goes to exactly one op.
void check_uses(const std::vector<GraphNode>& nodes) {
  std::vector<std::vector<std::string>> users(nodes.size());
  for (const GraphNode& node : nodes) {
    for (size_t input : node.inputs) users[input].push_back(node.name);
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (users[i].size() > 1) {
      throw nodes[i].spec.error(cat(nodes[i].name, " is used by ", join(users[i]), "; an op's output goes to one op"),
                                "write the op once for each of them");
    }
    if (users[i].empty() && i + 1 < nodes.size()) {
      throw nodes[i].spec.error(cat("no op uses ", nodes[i].name), "name it in a from, or remove it");
    }
  }
}

}  // namespace

void connect_ops(std::vector<GraphNode>& nodes, const OpRegistry& registry) {
  find_inputs(nodes, registry);
  check_uses(nodes);
}

std::vector<Port> ports_of(const GraphNode& node, const std::vector<GraphNode>& nodes, const OpRegistry& registry) {
  std::vector<Port> ports;
  const std::vector<PortType> wanted = wanted_ports(node);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const GraphNode& before = nodes[node.inputs[i]];
    check_port(node, wanted[i], before, nodes, registry);
    ports.push_back(before.output);
    // A transform of rows may stand after the op that makes the batches; it sees rows all the same.
    if (wanted[i] == PortType::rows) ports.back().type = PortType::rows;
  }
  return ports;
}

}  // namespace millrace
