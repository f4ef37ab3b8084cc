// A configuration as JSON: maps, lists and scalars with the types that YAML gives them.
#pragma once

#include "millrace/cli/text/json_text.h"
#include "millrace/core/spec.h"

namespace millrace::cli {

void append_spec(JsonText& json, const Spec& spec);

}  // namespace millrace::cli
