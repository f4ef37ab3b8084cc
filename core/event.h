// Event: a point in a context's work that the host, or another context, can wait for. So two contexts on one device
// share its memory: one copies while the other computes.
//
//   Event copied(device);
//   copies.copy_async(batch.data(), host.data(), bytes);
//   copies.record(copied);
//   steps.wait_for(copied);       // what `steps` is given from now on runs behind the copy; the host goes on
//   if (copied.finished()) ...    // the host's memory may be written again
//
// On the CPU all work has ended when it was given, so there is nothing to wait for. Used by one thread at a time.
#pragma once

#include "millrace/core/cuda/backend.h"
#include "millrace/core/device.h"
#include "millrace/core/export.h"

namespace millrace {

class MILLRACE_EXPORT Event {
 public:
  // For contexts on `device`. Throws DeviceError when it cannot be used.
  explicit Event(Device device);

  // Whether the work that Context::record() marked last has ended; true when nothing was marked yet. Throws what the
  // work failed with, where that is known.
  bool finished() const;
  // The host waits for it.
  void synchronize() const;

 private:
  friend class Context;

  cuda::EventPointer cuda_;  // null on the CPU
};

}  // namespace millrace
