// Which kinds of ops lead from one port to another, for hints.
#pragma once

#include <string>
#include <string_view>

#include "millrace/input/op.h"

namespace millrace {

// `before`, the fewest kinds that lead there, in order, and `after`; empty: none do. Kinds say themselves where they
// lead (Registry::Entry::leads).
std::string kinds_hint(const OpRegistry& registry, PortType from, PortType to, std::string_view before,
                       std::string_view after);

}  // namespace millrace
