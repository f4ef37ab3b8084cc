// Event: a point in a context's work that the host, or another context, can wait for. So two contexts on one device
// share its memory: one copies while the other computes.
//
//   Event copied(device);
//   copies.copy_async(batch.data(), host.data(), bytes);
//   copies.record(copied);
//   steps.wait_for(copied);       // later work of `steps` runs after the copy; the host goes on
//   if (copied.finished()) ...    // the host's memory may be written again
//
// On the CPU, work has ended when the call that gave it returns, so there is nothing to wait for. Used by one thread at
// a time.
#pragma once

#include "millrace/core/context.h"
#include "millrace/core/cuda/backend.h"
#include "millrace/core/export.h"

namespace millrace {

class MILLRACE_EXPORT Event {
 public:
  // For contexts on `device`. Throws DeviceError if the device cannot be used.
  explicit Event(Device device);

  // Whether the work that Context::record() marked last has ended; true if nothing was marked yet. If that work is
  // known to have failed, throws its error.
  bool finished() const;
  // The host waits for that work.
  void synchronize() const;

 private:
  friend class Context;

  cuda::EventPointer cuda_;  // null on the CPU
};

}  // namespace millrace
