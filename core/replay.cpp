#include "millrace/core/replay.h"

#include <vector>

#include "millrace/core/errors.h"

namespace millrace {

void Replay::run(Context& context, FunctionRef<void()> work, bool warm) {
  if (context.device().is_cpu()) return work();
  if (warm && stage_ == Stage::fresh) stage_ = Stage::warm;
  if (stage_ == Stage::warm) record(context, work);
  if (stage_ == Stage::recorded) return launch(context);
  work();
  if (stage_ == Stage::fresh) stage_ = Stage::warm;
}

void Replay::launch(Context& context) const { cuda::launch(context.cuda(), *recording_); }

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
    // If the device itself has failed, the caller's direct run of the work fails, too.
    if (++failures_ < kAttempts) return;
    stage_ = Stage::plain;
    failure_ = error.message();
  }
}

void ReplayChain::launch(Context& context, std::span<const Replay* const> replays) {
  if (!recording_ && failure_.empty()) {
    std::vector<const cuda::Recording*> links;
    for (const Replay* replay : replays) links.push_back(replay->recording_.get());
    try {
      recording_ = cuda::chain(context.cuda(), links);
    } catch (const DeviceError& error) {
      failure_ = error.message();
    }
  }
  if (recording_) {
    // The first launch may fail for lack of the device's memory. Then no part of it was launched.
    try {
      return cuda::launch(context.cuda(), *recording_);
    } catch (const DeviceError& error) {
      failure_ = error.message();
      recording_.reset();
    }
  }
  for (const Replay* replay : replays) replay->launch(context);
}

}  // namespace millrace
