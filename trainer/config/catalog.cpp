#include "millrace/trainer/config/catalog.h"

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/catalog.h"

namespace millrace {

Catalog Catalog::builtin() { return {LayerCatalog::builtin(), builtin_ops()}; }

std::string_view Catalog::checked(std::string_view name) {
  if (is_name(name)) return name;
  throw ConfigError(cat("the kind ", quote(name), " could not be named in a configuration"), {},
                    "name it with letters, digits, _ and -, the first one a letter or _");
}

}  // namespace millrace
