// Ranges of time that NVIDIA's profilers show (NVTX). Two files implement them: nvtx.cpp with a toolkit, stub.cpp
// without one. Without a profiler they cost next to nothing.
#pragma once

namespace millrace::cuda {

// Whether a profiler watches this process.
bool profiler_attached() noexcept;

// The ranges of one thread nest.
void push_range(const char* name) noexcept;
void pop_range() noexcept;

}  // namespace millrace::cuda
