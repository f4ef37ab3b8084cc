// The configuration that a command line asks for.
#pragma once

#include "millrace/cli/arguments/arguments.h"
#include "millrace/core/spec.h"
#include "millrace/trainer/config/catalog.h"

namespace millrace::cli {

// The file --config with what --set changes; --save is its key `save`. Throws MissingError, ConfigError.
Spec read_configuration(const Arguments& arguments);

// The built-in kinds and those of --plugin. Throws as load_plugin().
Catalog read_catalog(const Arguments& arguments);

}  // namespace millrace::cli
