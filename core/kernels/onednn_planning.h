// OneDnnPlanning: held by the thread that makes primitives of oneDNN, one thread in the process at a time.
//
// The library finds primitives that it made before in a cache for all threads. Ours and its code is rarely built for
// ThreadSanitizer; the lock shows a program that is in which order they come to the cache.
#pragma once

#include <dnnl.hpp>
#include <mutex>
#include <string>

#include "millrace/core/context.h"
#include "millrace/core/executor.h"

namespace millrace::cpu {

class OneDnnPlanning {
 public:
  OneDnnPlanning();

  // For which the primitives are made.
  const dnnl::engine& engine() const { return engine_; }

 private:
  std::unique_lock<std::mutex> lock_;
  dnnl::engine engine_;
};

// Runs plan(engine) where OpenMP is limited to one thread, as the primitives will run. An InternalError says that
// oneDNN could not plan `what`.
void plan_inside(Context& context, const std::string& what, FunctionRef<void(const dnnl::engine&)> plan);

}  // namespace millrace::cpu
