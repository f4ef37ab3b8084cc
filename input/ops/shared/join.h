// Code shared by ops that join several inputs.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/buffer.h"

namespace millrace {

// Throws a ConfigError that names both sides if the rows of the inputs differ.
inline void check_inputs(const BindArgs& args) {
  for (size_t i = 1; i < args.inputs.size(); ++i) {
    if (args.inputs[i].rows == args.inputs[0].rows) continue;
    throw ConfigError(cat(args.name, " joins inputs of equal rows, but input 1 gives ", args.inputs[0].rows.text(),
                          " and input ", i + 1, " gives ", args.inputs[i].rows.text()));
  }
}

inline void save_flags(State& state, std::string_view key, const std::vector<bool>& flags) {
  std::copy(flags.begin(), flags.end(), state.list(key, flags.size()).begin());
}

inline void load_flags(const State& state, std::string_view key, std::vector<bool>& flags) {
  const std::vector<uint64_t>& saved = state.counts(key, {1});
  if (saved.size() != flags.size()) {
    throw DataError(cat("the saved state has ", saved.size(), " inputs, but there are ", flags.size()));
  }
  flags.assign(saved.begin(), saved.end());
}

}  // namespace millrace
