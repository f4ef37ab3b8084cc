// MILLRACE_HD marks functions that run on the host and on CUDA devices.
//
// MILLRACE_CUDA_UNIT is defined where a unit is compiled as CUDA.
//
// MILLRACE_UNIT names the kind of unit that is compiled. Templates whose bodies differ between the two kinds stand in
// `inline namespace MILLRACE_UNIT`: one name seen by both would silently keep only one of the bodies.
//
// MILLRACE_ROLLED, before a loop of a device's function: not four copies of its body. For loops that hardly ever turn
// twice, or whose body is large; where turns wait for memory, copies have several loads under way.
#pragma once

#if defined(__CUDACC__)
#define MILLRACE_CUDA_UNIT
#endif

#if defined(MILLRACE_CUDA_UNIT)
#define MILLRACE_HD __host__ __device__
#define MILLRACE_UNIT cuda_unit
#else
#define MILLRACE_HD
#define MILLRACE_UNIT cpp_unit
#endif

#if defined(__CUDA_ARCH__)
#define MILLRACE_ROLLED _Pragma("unroll 1")
#else
#define MILLRACE_ROLLED
#endif
