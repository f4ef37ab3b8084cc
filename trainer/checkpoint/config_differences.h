// What a training that goes on from a checkpoint makes of a configuration that is not the one it began with. Every key
// says itself what its value decides (OptionReader::decides()).
//
//   for (const std::string& note : compare_configs(saved_config(file), config, catalog)) log(note);
//
// A pure function, but for the current folder, which relative paths begin at.
#pragma once

#include <string>
#include <vector>

#include "millrace/core/spec.h"
#include "millrace/trainer/config/config.h"

namespace millrace {

// `saved` is the whole Config::resolved of the training that was saved; `config` is the one that goes on, after
// complete_resolved(). Values are compared as they were resolved, so it does not matter how they are written.
//
// Keys that decide nothing (Decides) may differ. Of keys that decide the length or the last bits, the result has a note
// for each that differs. Any other difference is a ConfigError, at the place of the new value, that names the key and
// both values.
std::vector<std::string> compare_configs(const Spec& saved, const Config& config, const Catalog& catalog);

}  // namespace millrace
