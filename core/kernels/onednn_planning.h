// OneDnnPlanning: held by the thread that makes primitives of oneDNN, one thread in the process at a time.
//
// The library finds primitives that it made before in a cache for all threads. Ours and its code is rarely built for
// ThreadSanitizer; the lock shows a program that is in which order they come to the cache.
#pragma once

#include <dnnl.hpp>
#include <mutex>

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

}  // namespace millrace::cpu
