// Compares the configuration in a checkpoint with the configuration of a training that goes on from it. Every key
// declares what its value decides (OptionReader::decides()).
//
//   for (const std::string& note : compare_configs(saved_config(file), config, catalog)) log(note);
//
// A pure function, except that relative paths begin at the current folder.
#pragma once

#include <string>
#include <vector>

#include "millrace/core/spec.h"
#include "millrace/trainer/config/config.h"

namespace millrace {

// `saved` is the whole Config::resolved of the saved training. `config` belongs to the training that goes on, after
// complete_resolved(). Resolved values are compared, so it does not matter how they were written.
//
// Keys that decide nothing (Decides) may differ. Keys that decide the length or the last bits may differ, too, and the
// result has a note for each. Any other difference is a ConfigError at the place of the new value, which names the key
// and both values.
std::vector<std::string> compare_configs(const Spec& saved, const Config& config, const Catalog& catalog);

}  // namespace millrace
