// The ops of a configuration's input list, as a diagnosis looks at them.
#pragma once

#include <functional>
#include <string>

#include "millrace/core/spec.h"

namespace millrace {

// Calls body(name, kind, options) for each item `kind: {options}` of the list `input`, in order; the name is as --set
// takes it. Items without options are passed over.
void for_each_op(
    const Spec& config,
    const std::function<void(const std::string& name, const std::string& kind, const Spec& options)>& body);

}  // namespace millrace
