// Replay: work that a context is given again and again, each time the same.
//
//   Replay step;
//   while (..) step.run(context, [&] { plan.forward(context, inputs, pass); plan.backward(context, ..); });
//
// On CUDA the work is recorded once and from then on launched as a whole, as one graph, which costs the host a few
// microseconds however much it is. So what it reads besides memory must be the same each time: addresses, sizes, and
// everything that its code on the host decides by. Numbers that change lie in memory that the work reads when it runs.
// On the CPU the work simply runs.
//
// A ReplayChain launches several of them at once, one behind the other.
//
// Used by one thread at a time. On CUDA the context must outlive it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "millrace/core/context.h"
#include "millrace/core/cuda/backend.h"
#include "millrace/core/function_ref.h"

namespace millrace {

class Replay {
 public:
  // Gives the work to the context. The first time it runs as it is: libraries may load what they need then. The second
  // time it is recorded; where that fails a few times, it runs as it is ever after. `warm`: another Replay ran the same
  // calls on other memory, so that this one is recorded at once. Throws what the work throws.
  void run(Context& context, FunctionRef<void()> work, bool warm = false);
  // Gives the context what was recorded. REQUIRES: recorded().
  void launch(Context& context) const;

  // Whether run() launches a recording from now on.
  bool recorded() const { return recording_ != nullptr; }
  // Why it runs as it is ever after; empty where that is not so.
  const std::string& failure() const { return failure_; }

 private:
  friend class ReplayChain;
  enum class Stage : uint8_t { fresh, warm, recorded, plain };

  void record(Context& context, FunctionRef<void()> work);

  // What another thread of the host does to the device may break a recording, so one failure says little.
  static constexpr int kAttempts = 3;

  Stage stage_ = Stage::fresh;
  int failures_ = 0;
  std::string failure_;
  cuda::RecordingPointer recording_;
};

class ReplayChain {
 public:
  // Gives the context what the replays recorded, in their order: as one launch, which is made ready at the first call,
  // or one by one where that fails. REQUIRES: all are recorded(), and the same ones at every call.
  void launch(Context& context, std::span<const Replay* const> replays);
  // Why they go one by one; empty where that is not so.
  const std::string& failure() const { return failure_; }

 private:
  std::string failure_;
  cuda::RecordingPointer recording_;
};

}  // namespace millrace
