// Workers decode units somewhere else, such as on other machines. A pipeline whose graph has them asks them for the
// chunks of its sources; everything else stays as it is, so the rows are the same.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/input/files/file_system.h"
#include "millrace/input/run/transform_chain.h"

namespace millrace {

struct GraphImpl;

// Makes the chunks of one source.
class UnitDecoder {
 public:
  virtual ~UnitDecoder() = default;
  // Its threads call apply(), which waits there for an answer. So it has a thread for each unit that all workers have
  // at once.
  virtual Executor& executor() = 0;
  // The same as TransformChain::apply(). Any number of threads may call it at the same time. Once `abandoned` is set
  // and wake() was called, it returns soon, and nobody uses what it returns.
  virtual std::exception_ptr apply(Chunk& chunk, TaskMemory& memory, const std::atomic<bool>& abandoned) noexcept = 0;
  virtual void wake() noexcept = 0;
};

// Of one graph.
class Workers {
 public:
  virtual ~Workers() = default;
  // The same workers for another graph.
  virtual std::shared_ptr<Workers> for_another_graph() = 0;
  // The files as the workers see them; null: the graph reads this machine's.
  virtual FileSystem* files() = 0;
  // The decoder of the source of a graph that begins this chain; the graph outlives it. `local` is the executor of the
  // pipeline.
  virtual std::unique_ptr<UnitDecoder> decoder(const GraphImpl& graph, const TransformChain& chain,
                                               Executor& local) = 0;
  // How many units may be out at once for each source.
  virtual int most_units() const = 0;
  // Ends every wait of this graph for them soon, now and later. Any thread may call it.
  virtual void stop() noexcept = 0;
  // What happened to workers since the last call, a line each. Any thread may call it.
  virtual std::vector<std::string> take_news() = 0;
};

}  // namespace millrace
