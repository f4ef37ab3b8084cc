// The configuration as JSON Schema (draft 2020-12), for editors. A pure function; equal catalogs give equal bytes.
#pragma once

#include <string>

#include "millrace/trainer/config/catalog.h"

namespace millrace::cli {

// One line. What an option's declaration cannot tell (rules between keys, shapes, files) the schema lets pass.
std::string config_schema(const Catalog& catalog);

}  // namespace millrace::cli
