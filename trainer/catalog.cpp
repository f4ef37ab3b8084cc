#include "millrace/trainer/catalog.h"

#include "millrace/input/catalog.h"

namespace millrace {

Catalog Catalog::builtin() { return {LayerCatalog::builtin(), builtin_ops()}; }

}  // namespace millrace
