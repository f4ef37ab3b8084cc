// Replay: work that a context is given again and again, the same each time.
//
//   Replay step;
//   while (..) step.run(context, [&] { plan.forward(context, inputs, pass); plan.backward(context, ..); });
//
// On CUDA the work is recorded once and then launched as a whole, as one graph. A launch costs the host a few
// microseconds, however much work it is. So everything except the contents of memory must be the same each time:
// addresses, sizes, and everything on which code on the host bases a decision. Numbers that change are in memory, which
// the work reads when it runs. On the CPU the work simply runs.
//
// A ReplayChain launches several of them at once, one after another.
//
// Used by one thread at a time. On CUDA the context must outlive it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "millrace/core/context.h"
#include "millrace/core/cuda/backend.h"

namespace millrace {

class Replay {
 public:
  // Gives the work to the context. The first time it runs directly, so that libraries may load what they need. The
  // second time it is recorded; if that fails a few times, it runs directly from then on. `warm`: another Replay ran
  // the same calls on other memory, so this one is recorded at once. Throws what the work throws.
  void run(Context& context, FunctionRef<void()> work, bool warm = false);
  // Gives the recording to the context. REQUIRES: recorded().
  void launch(Context& context) const;

  // Whether run() launches a recording from now on.
  bool recorded() const { return recording_ != nullptr; }
  // Why the work runs directly from now on; empty if it does not.
  const std::string& failure() const { return failure_; }

 private:
  friend class ReplayChain;
  enum class Stage : uint8_t { fresh, warm, recorded, plain };

  void record(Context& context, FunctionRef<void()> work);

  // Another thread of the host may break a recording by what it does to the device, so one failure does not mean that
  // all will fail.
  static constexpr int kAttempts = 3;

  Stage stage_ = Stage::fresh;
  int failures_ = 0;
  std::string failure_;
  cuda::RecordingPointer recording_;
};

class ReplayChain {
 public:
  // Gives the recordings to the context, in order: as one launch, which is made ready at the first call, or one by one
  // if that fails. REQUIRES: all are recorded(), and the same ones at every call.
  void launch(Context& context, std::span<const Replay* const> replays);
  // Why they go one by one; empty if they do not.
  const std::string& failure() const { return failure_; }

 private:
  std::string failure_;
  cuda::RecordingPointer recording_;
};

}  // namespace millrace
