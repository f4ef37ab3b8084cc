// MILLRACE_HD marks functions that run on the host and on CUDA devices.
//
// MILLRACE_UNIT names the kind of unit that is compiled. Templates whose bodies differ between the two kinds stand in
// `inline namespace MILLRACE_UNIT`: one name seen by both would silently keep only one of the bodies.
#pragma once

#if defined(__CUDACC__)
#define MILLRACE_HD __host__ __device__
#define MILLRACE_UNIT cuda_unit
#else
#define MILLRACE_HD
#define MILLRACE_UNIT cpp_unit
#endif
