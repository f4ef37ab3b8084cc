// OneDnnPlanning: a thread holds one while it makes primitives of oneDNN; only one thread in the process can.
//
// The library keeps the primitives that it made in a cache for all threads. It is rarely built for ThreadSanitizer; the
// lock shows a program that is built for it in which order threads use the cache.
#pragma once

#include <dnnl.hpp>
#include <mutex>
#include <string>

#include "millrace/core/context.h"
#include "millrace/core/threads/executor.h"

namespace millrace::cpu {

class OneDnnPlanning {
 public:
  OneDnnPlanning();

  // The engine for which primitives are made.
  const dnnl::engine& engine() const { return engine_; }

 private:
  std::unique_lock<std::mutex> lock_;
  dnnl::engine engine_;
};

// Runs plan(engine) with OpenMP limited to one thread, as the primitives will run. If oneDNN fails, throws an
// InternalError that says that oneDNN could not plan `what`.
void plan_inside(Context& context, const std::string& what, FunctionRef<void(const dnnl::engine&)> plan);

// The version that is loaded: "oneDNN 2.6.3".
std::string onednn_version();

}  // namespace millrace::cpu
