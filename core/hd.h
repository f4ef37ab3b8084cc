// MILLRACE_HD marks functions that run on the host and on CUDA devices.
#pragma once

#if defined(__CUDACC__)
#define MILLRACE_HD __host__ __device__
#else
#define MILLRACE_HD
#endif
