// A configuration as JSON: maps, lists and scalars with the types that YAML gives them.
#pragma once

#include "millrace/core/spec.h"
#include "millrace/trainer/cli/json_text.h"

namespace millrace::cli {

void append_spec(JsonText& json, const Spec& spec);

}  // namespace millrace::cli
