#include "millrace/core/replay.h"

#include "millrace/core/errors.h"

namespace millrace {

void Replay::run(Context& context, FunctionRef<void()> work, bool warm) {
  if (context.device().is_cpu()) return work();
  if (warm && stage_ == Stage::fresh) stage_ = Stage::warm;
  if (stage_ == Stage::warm) record(context, work);
  if (stage_ == Stage::recorded) return cuda::launch(context.cuda(), *recording_);
  work();
  if (stage_ == Stage::fresh) stage_ = Stage::warm;
}

void Replay::record(Context& context, FunctionRef<void()> work) {
  cuda::State& state = context.cuda();
  try {
    cuda::begin_recording(state);
    try {
      work();
    } catch (...) {
      cuda::abandon_recording(state);
      throw;
    }
    recording_ = cuda::end_recording(state);
    stage_ = Stage::recorded;
  } catch (const DeviceError& error) {
    // If the device itself is out of order, the work fails again as it is.
    if (++failures_ < kAttempts) return;
    stage_ = Stage::plain;
    failure_ = error.message();
  }
}

}  // namespace millrace
