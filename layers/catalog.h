// The layers, losses, metrics and optimizers that a configuration may name. It is a value: copy it to add kinds of your
// own.
#pragma once

#include "millrace/core/export.h"
#include "millrace/layers/layer.h"
#include "millrace/layers/loss.h"
#include "millrace/layers/optimizer.h"

namespace millrace {

struct MILLRACE_EXPORT LayerCatalog {
  LayerRegistry layers{"layer", kOthersAdd};
  LossRegistry losses{"loss", kOthersAdd};
  MetricRegistry metrics{"metric", kOthersAdd};
  OptimizerRegistry optimizers{"optimizer", kOthersAdd};

  // Everything in layers/, from the table that CMake generates.
  static LayerCatalog builtin();
};

}  // namespace millrace

// The last line of layers/<kind>.cpp (and of losses/, metrics/, optimizers/): names the class that implements the kind.
#define MILLRACE_REGISTER_LAYER(kind, Class) MILLRACE_REGISTER_IN(LayerRegistry, register_layer_##kind, #kind, Class)
#define MILLRACE_REGISTER_LOSS(kind, Class) MILLRACE_REGISTER_IN(LossRegistry, register_loss_##kind, #kind, Class)
#define MILLRACE_REGISTER_METRIC(kind, Class) MILLRACE_REGISTER_IN(MetricRegistry, register_metric_##kind, #kind, Class)
#define MILLRACE_REGISTER_OPTIMIZER(kind, Class) \
  MILLRACE_REGISTER_IN(OptimizerRegistry, register_optimizer_##kind, #kind, Class)

#define MILLRACE_REGISTER_IN(Registry, function, kind, Class)      \
  namespace millrace {                                             \
  void function(Registry& registry);                               \
  void function(Registry& registry) { registry.add<Class>(kind); } \
  }                                                                \
  static_assert(true)
