// The paths that a configuration names as its input, before anything is opened.
#pragma once

#include <string>
#include <vector>

#include "millrace/core/spec.h"

namespace millrace {

// Every path and pattern that an op of the list `input` has under `files` or `file`, in order.
std::vector<std::string> input_patterns(const Spec& input);

// Paths are relative to the current folder, but people often mean the configuration's. Where a pattern of `input`
// matches nothing here but something beside the file `config`, a hint that says so; else empty.
std::string hint_beside_config(const Spec& input, const std::string& config);

}  // namespace millrace
