// The layers, losses, metrics and optimizers that a configuration may name. A value: copy it to add kinds of your own.
#pragma once

#include "millrace/layers/layer.h"
#include "millrace/layers/loss.h"
#include "millrace/layers/metric.h"
#include "millrace/layers/optimizer.h"

namespace millrace {

struct LayerCatalog {
  LayerRegistry layers{"layer"};
  LossRegistry losses{"loss"};
  MetricRegistry metrics{"metric"};
  OptimizerRegistry optimizers{"optimizer"};

  // Everything in layers/, from the table that CMake generates.
  static LayerCatalog builtin();
};

}  // namespace millrace

// The last line of layers/<kind>.cpp (and of losses/, metrics/, optimizers/): names the class that implements the kind.
#define MILLRACE_REGISTER_LAYER(kind, Class) \
  namespace millrace {                          \
  void register_layer_##kind(LayerRegistry\& registry);   \
  void register_layer_##kind(LayerRegistry\& registry) { registry.add<Class>(#kind); } \
  }
#define MILLRACE_REGISTER_LOSS(kind, Class) \
  namespace millrace {                          \
  void register_loss_##kind(LossRegistry\& registry);   \
  void register_loss_##kind(LossRegistry\& registry) { registry.add<Class>(#kind); } \
  }
#define MILLRACE_REGISTER_METRIC(kind, Class) \
  namespace millrace {                          \
  void register_metric_##kind(MetricRegistry\& registry);   \
  void register_metric_##kind(MetricRegistry\& registry) { registry.add<Class>(#kind); } \
  }
#define MILLRACE_REGISTER_OPTIMIZER(kind, Class) \
  namespace millrace {                          \
  void register_optimizer_##kind(OptimizerRegistry\& registry);   \
  void register_optimizer_##kind(OptimizerRegistry\& registry) { registry.add<Class>(#kind); } \
  }
