#include "millrace/core/kernels/dots/dots.h"

#include <array>
#include <cmath>

namespace millrace::cpu {

namespace {

float multiplied_and_added(float x, float y, float sum) {
#if defined(__FP_FAST_FMAF)
  return std::fma(x, y, sum);
#else
  return x * y + sum;
#endif
}

float dot_of(const float* x, const float* y, int64_t count) {
  std::array<float, kLanes> lanes{};
  int64_t begin = 0;
  for (; begin + kLanes <= count; begin += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) {
      float& lane = lanes[static_cast<size_t>(l)];
      lane = multiplied_and_added(x[begin + l], y[begin + l], lane);
    }
  }
  // If a lane has no product left, it gets 0 * 0, as in the functions that fill up registers: -0 becomes 0.
  for (int64_t l = 0; begin < count && l < kLanes; ++l) {
    float& lane = lanes[static_cast<size_t>(l)];
    lane = begin + l < count ? multiplied_and_added(x[begin + l], y[begin + l], lane) : lane + 0.0F;
  }
  for (size_t width = kLanes / 2; width > 0; width /= 2) {
    for (size_t l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

DotsFunction* best_function() {
#if defined(__x86_64__)
  if (has_dots_avx2()) return dots_avx2;
#endif
  return dots_plain;
}

}  // namespace

void dots_plain(const Dots& dots) {
  for (int64_t j = 0; j < dots.columns; ++j) {
    for (int64_t i = 0; i < dots.rows; ++i) {
      dots.c[i * dots.ldc + j] = dot_of(dots.a + i * dots.lda, dots.b + j * dots.ldb, dots.k);
    }
  }
}

DotsFunction* dots_function() {
  static DotsFunction* const best = best_function();
  return best;
}

}  // namespace millrace::cpu
