// RemoteDecoder: asks the workers of a pool for the chunks of one source.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <semaphore>

#include "millrace/core/context.h"
#include "millrace/input/graph/graph_units.h"
#include "millrace/input/run/unit_decoder.h"
#include "millrace/trainer/remote/worker_pool.h"

namespace millrace {

class RemoteDecoder final : public UnitDecoder {
 public:
  // For the units of graph number `graph` that go through `chain`. At most `local_tasks` are decoded here at once.
  RemoteDecoder(WorkerPool& pool, uint32_t graph, const TransformChain& chain, int local_tasks);
  ~RemoteDecoder() override;
  RemoteDecoder(const RemoteDecoder&) = delete;
  RemoteDecoder& operator=(const RemoteDecoder&) = delete;

  Executor& executor() override { return pool_.waiting(); }
  void wake() noexcept override { pool_.book().wake(); }
  std::exception_ptr apply(Chunk& chunk, TaskMemory& memory, const std::atomic<bool>& abandoned) noexcept override;

 private:
  std::exception_ptr ask_for(const UnitNumbers& unit, Chunk& chunk, TaskMemory& memory,
                             const std::atomic<bool>& abandoned);
  std::exception_ptr take(const ZmqParts& parts, Chunk& chunk, TaskMemory& memory) const;
  std::exception_ptr decode_here(Chunk& chunk, TaskMemory& memory);

  WorkerPool& pool_;
  const uint32_t graph_;
  const TransformChain& chain_;
  const SharedRowSpec rows_;
  const bool text_;
  std::counting_semaphore<Executor::kMostThreads> local_turns_;
};

}  // namespace millrace
