// native: nothing lies between the graph and the step but the one batch that both know.
#include <utility>

#include "millrace/trainer/delivery/batch_source.h"
#include "millrace/trainer/delivery/kinds.h"

namespace millrace {

std::unique_ptr<Delivery> make_native(InputGraph graph, DeliveryArgs args) {
  return std::make_unique<BatchSource>(std::move(graph), std::move(args.pipeline), &args.executor);
}

}  // namespace millrace
