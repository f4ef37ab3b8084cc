// Shared by all code that uses oneDNN: planning, memory for the library's code, failures, and the library's version.
#pragma once

#include <dnnl.hpp>
#include <string>

#include "millrace/core/context.h"

namespace millrace::cpu {

// Runs plan(engine), which makes primitives of oneDNN for the engine, with OpenMP limited to one thread, as the
// primitives will run; only one thread of the process at a time. If oneDNN fails, throws an InternalError that says
// that oneDNN could not plan `what`. Calls require_code_memory() first.
//
// The library keeps the primitives that it made in a cache for all threads. It is rarely built for ThreadSanitizer; the
// lock shows a program that is built for it in which order threads use the cache.
void plan_inside(Context& context, const std::string& what, FunctionRef<void(const dnnl::engine&)> plan);

// The library writes machine code while it makes a primitive, and for products when one runs for the first time. It
// does not look whether it got memory for the code, or for the description of a primitive. Throws InternalError if the
// system has no room for as much code as the library writes at once, and DeviceError if the system lets no code be
// written. Called before each of these.
void require_code_memory();

// The first of the runs of an object that runs primitives: only in that one the library writes code.
class FirstRun {
 public:
  // Called before every run.
  void require_code_memory() {
    if (!has_run_) cpu::require_code_memory();
    has_run_ = true;
  }

 private:
  bool has_run_ = false;
};

template <class Primitive, class Description>
Primitive make_primitive(const Description& description) {
  require_code_memory();
  return Primitive(description);
}

// The text for a failure of the library: "out of memory", "status 3".
std::string status_text(dnnl_status_t status);

// The version that is loaded: "oneDNN 2.6.3".
std::string onednn_version();

}  // namespace millrace::cpu
