// What the label's values were before the ops of a configuration's input changed them.
#pragma once

#include "millrace/input/transform.h"
#include "millrace/trainer/config/config.h"

namespace millrace {

// By what the transforms of the list say (Transform::undo), from the last to the first. Nothing is opened or bound.
// Throws ConfigError for what is wrong with the list itself.
FieldHistory label_history(const Config& config, const OpRegistry& registry);

}  // namespace millrace
