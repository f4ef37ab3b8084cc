// Catalog: every kind that a configuration may name. A value: a program copies it and adds kinds of its own.
//
//   Catalog catalog = Catalog::builtin();
//   catalog.layers.layers.add<Swish>("swish");
//   Trainer trainer = Trainer::from_file("mlp.yaml", {}, catalog);
#pragma once

#include "millrace/core/export.h"
#include "millrace/input/op.h"
#include "millrace/layers/catalog.h"

namespace millrace {

struct MILLRACE_EXPORT Catalog {
  LayerCatalog layers;
  OpRegistry ops{"input op"};

  // Everything in layers/ and input/.
  static Catalog builtin();
};

}  // namespace millrace
