// Dot products of rows with rows: c[i][j] = the sum over k of a[i][k] * b[j][k], each in an order that depends only
// on k.
//
// Products number k are added up in lane k % kLanes, one after another; then the lanes are joined: lane l with l + 4,
// then l with l + 2, then 0 with 1. So where a row is, and which rows are computed with it, changes no bit. All
// functions for processors with a fused multiply-add give the same bits; dots_plain() rounds twice on others.
// Stateless: any thread may call them at any time, in FloatMode.
#pragma once

#include <cstdint>

namespace millrace::cpu {

inline constexpr int64_t kLanes = 8;

struct Dots {
  const float* a = nullptr;  // (rows, k)
  const float* b = nullptr;  // (columns, k)
  float* c = nullptr;        // (rows, columns)
  int64_t rows = 0, columns = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;  // elements between rows
};

using DotsFunction = void(const Dots& dots);

// The best function for this processor.
DotsFunction* dots_function();

DotsFunction dots_plain;  // for any processor
#if defined(__x86_64__)
// Only a processor with AVX2 and FMA may call it.
DotsFunction dots_avx2;
bool has_dots_avx2();
#endif

}  // namespace millrace::cpu
