// Marks of declarations and loops.
//
// MILLRACE_EXPORT marks the types and functions that cross a shared library's border; all else is built with hidden
// visibility.
//
// MILLRACE_HD marks functions that run on the host and on CUDA devices.
//
// MILLRACE_CUDA_UNIT is defined if the unit is compiled as CUDA.
//
// MILLRACE_UNIT names the kind of unit that is compiled. Templates whose bodies differ between the two kinds are in
// `inline namespace MILLRACE_UNIT`: if both kinds saw one name, only one of the bodies would be kept, in silence.
//
// MILLRACE_ROLLED, before a loop in a device function, asks for one copy of the body instead of four. Use it for loops
// that rarely turn twice, or whose body is large. Do not use it if turns wait for memory: copies keep several loads
// under way.
#pragma once

#if defined(__GNUC__) || defined(__clang__)
#define MILLRACE_EXPORT __attribute__((visibility("default")))
#else
#define MILLRACE_EXPORT
#endif

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
