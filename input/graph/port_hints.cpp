#include "millrace/input/graph/port_hints.h"

#include <vector>

#include "millrace/core/text.h"

namespace millrace {

namespace {

// The fewest kinds that lead from one port to another, in order; empty: none do.
std::vector<std::string> kinds_between(const OpRegistry& registry, PortType got, PortType expected) {
  std::vector<std::string> fewest;
  for (const auto& [kind, entry] : registry.entries()) {
    for (auto port = static_cast<uint8_t>(got) + 1; port <= static_cast<uint8_t>(expected); ++port) {
      const auto next = static_cast<PortType>(port);
      if (entry.leads != cat(to_string(got), " to ", to_string(next))) continue;
      std::vector<std::string> kinds = {kind};
      if (next != expected) {
        const std::vector<std::string> rest = kinds_between(registry, next, expected);
        if (rest.empty()) continue;
        kinds.insert(kinds.end(), rest.begin(), rest.end());
      }
      if (fewest.empty() || kinds.size() < fewest.size()) fewest = std::move(kinds);
    }
  }
  return fewest;
}

}  // namespace

std::string kinds_hint(const OpRegistry& registry, PortType from, PortType to, std::string_view before,
                       std::string_view after) {
  const std::string kinds = join(kinds_between(registry, from, to));
  return kinds.empty() ? std::string() : cat(before, kinds, after);
}

}  // namespace millrace
