// The reference of ops, layers, losses, metrics and optimizers as text. Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "millrace/core/options.h"

namespace millrace::cli {

struct KindReference {
  std::string sort;  // "layer", "input op"
  std::string kind;  // "dense"
  std::string doc;
  std::vector<OptionInfo> options;
};

// One paragraph a kind: name, what it does, and a line for each option with type, default and meaning. A heading stands
// before each sort where there are several.
std::string reference_text(std::span<const KindReference> kinds);

}  // namespace millrace::cli
