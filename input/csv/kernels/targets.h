// For functions that use instructions which not every x86-64 has. Call them only if the processor is known to have
// these instructions.
#pragma once

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstdint>

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
// That header gives false positives, also in the rest of the file that includes this one.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace millrace {

// How many bytes before the end of a field the number parsers may read, whatever its length. The exponent is a part of
// the field.
inline constexpr uint32_t kReach = 36;

}  // namespace millrace

#define MILLRACE_AVX2 __attribute__((target("avx2,fma,bmi,bmi2,popcnt")))
#define MILLRACE_AVX2_INLINE MILLRACE_AVX2 __attribute__((always_inline)) inline

#define MILLRACE_AVX512                                                            \
  __attribute__((                                                                  \
      target("avx512f,avx512bw,avx512vl,avx512dq,avx512cd,avx512vbmi,avx512vbmi2," \
             "avx512bitalg,fma,bmi,bmi2,popcnt")))
#define MILLRACE_AVX512_INLINE MILLRACE_AVX512 __attribute__((always_inline)) inline

#endif
