// Catalog: every kind that a configuration may name. A value: a program copies it and adds kinds of its own.
//
//   Catalog catalog = Catalog::builtin();
//   catalog.add_layer<Swish>("swish");
//   Trainer trainer = Trainer::from_file("mlp.yaml", {}, catalog);
#pragma once

#include <string_view>
#include <utility>

#include "millrace/core/export.h"
#include "millrace/input/op.h"
#include "millrace/layers/catalog.h"

namespace millrace {

struct MILLRACE_EXPORT Catalog {
  LayerCatalog layers;
  OpRegistry ops{"input op", kOthersAdd};

  // Everything in layers/ and input/.
  static Catalog builtin();

  // Adds a kind under a name that a configuration may use: registry.h says what class it is. Throws ConfigError when
  // the name is taken, or has more than letters, digits, _ and -.
  template <class L>
  void add_layer(std::string_view name) {
    layers.layers.add<L>(checked(name));
  }
  template <class L>
  void add_loss(std::string_view name) {
    layers.losses.add<L>(checked(name));
  }
  template <class M>
  void add_metric(std::string_view name) {
    layers.metrics.add<M>(checked(name));
  }
  template <class O>
  void add_optimizer(std::string_view name) {
    layers.optimizers.add<O>(checked(name));
  }
  template <class O>
  void add_op(std::string_view name) {
    ops.add<O>(checked(name));
  }
  // An op that knows something of the program's: memory_op(), callback_op(), or an entry of its own.
  void add_op(std::string_view name, OpRegistry::Entry entry) { ops.add(checked(name), std::move(entry)); }

 private:
  static std::string_view checked(std::string_view name);
};

}  // namespace millrace
