// What all that uses oneDNN shares: planning, and the library's version.
#pragma once

#include <dnnl.hpp>
#include <string>

#include "millrace/core/context.h"

namespace millrace::cpu {

// Runs plan(engine), which makes primitives of oneDNN for the engine, with OpenMP limited to one thread, as the
// primitives will run; only one thread of the process at a time. If oneDNN fails, throws an InternalError that says
// that oneDNN could not plan `what`.
//
// The library keeps the primitives that it made in a cache for all threads. It is rarely built for ThreadSanitizer; the
// lock shows a program that is built for it in which order threads use the cache.
void plan_inside(Context& context, const std::string& what, FunctionRef<void(const dnnl::engine&)> plan);

// The version that is loaded: "oneDNN 2.6.3".
std::string onednn_version();

}  // namespace millrace::cpu
