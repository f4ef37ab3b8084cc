// native: the graph writes batches, and the step reads them from the same memory.
#include <utility>

#include "millrace/trainer/delivery/batch_source.h"
#include "millrace/trainer/delivery/kinds.h"

namespace millrace {

std::unique_ptr<Delivery> make_native(InputGraph graph, DeliveryArgs args) {
  args.pipeline.executor = &args.executor;
  const int64_t kept = kept_for(args.pipeline.reader, graph.output());
  return std::make_unique<BatchSource>(std::move(graph), std::move(args.pipeline), kept);
}

}  // namespace millrace
