// exp, log, log1p, tanh and erf of this library: at most 2 ulp from the true value, and the same bits on every
// processor. (A GPU fuses multiplications with additions, so its last bits may differ.) There are also sine and cosine
// of turns, and whole powers.
//
// These are templates over float and double for host and device; they call no function of a C library. For float they
// have no branches, so that loops over them are vectorised. NaN gives NaN; infinities, zeros and denormals are treated
// as IEC 60559 asks, except that floating-point exception flags are not promised. REQUIRES: rounding to nearest.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "millrace/core/export.h"

namespace millrace::math {

namespace math_detail {

template <class T>
struct Format;
template <>
struct Format<float> {
  using Int = int32_t;
  using Bits = uint32_t;
  static constexpr int kMantissaBits = 23, kBias = 127;
  static constexpr float kRoundToInteger = 0x1.8p23f;
  // ln 2 in two parts. The high part has so few bits that its product with an exponent is exact.
  static constexpr float kLn2High = 0x1.63p-1f, kLn2Low = -0x1.bd0106p-13f;
  static constexpr Bits kSqrtHalf = 0x3f3504f3;
};
template <>
struct Format<double> {
  using Int = int64_t;
  using Bits = uint64_t;
  static constexpr int kMantissaBits = 52, kBias = 1023;
  static constexpr double kRoundToInteger = 0x1.8p52;
  static constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
  static constexpr Bits kSqrtHalf = 0x3fe6a09e667f3bcd;
};

template <class T>
inline constexpr bool kIsFloat = std::is_same_v<T, float>;

// c0 + x (c1 + x (c2 + ...)).
template <class T>
MILLRACE_HD constexpr T polynomial(T, double c0) {
  return static_cast<T>(c0);
}
template <class T, class... More>
MILLRACE_HD constexpr T polynomial(T x, double c0, More... more) {
  return static_cast<T>(c0) + x * polynomial(x, more...);
}

// 2^n. REQUIRES: the result is a normal number; otherwise the result is garbage, but not undefined.
template <class T>
MILLRACE_HD inline T power_of_two(typename Format<T>::Int n) {
  using F = Format<T>;
  return std::bit_cast<T>(static_cast<typename F::Bits>(n + F::kBias) << F::kMantissaBits);
}

// x = n ln 2 + r with |r| <= ln 2 / 2.
template <class T>
struct Reduced {
  typename Format<T>::Int n;
  T r;
};
template <class T>
MILLRACE_HD inline Reduced<T> reduce(T x) {
  using F = Format<T>;
  // The last bits of the sum hold the nearest integer.
  const T shifted = x * static_cast<T>(1.4426950408889634) + F::kRoundToInteger;
  const T whole = shifted - F::kRoundToInteger;
  const auto n = static_cast<typename F::Int>(std::bit_cast<typename F::Bits>(shifted) -
                                              std::bit_cast<typename F::Bits>(F::kRoundToInteger));
  return {n, (x - whole * F::kLn2High) - whole * F::kLn2Low};
}

// exp(r) - 1 by its Taylor series. REQUIRES: |r| <= ln 2 / 2.
template <class T>
MILLRACE_HD inline T small_expm1(T r) {
  if constexpr (kIsFloat<T>) {
    return r + r * r * polynomial(r, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040);
  } else {
    return r + r * r *
                   polynomial(r, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320,
                              1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800);
  }
}

// The rest of log(1 + f) = f - f^2/2 + s (f^2/2 + rest) where s = f / (2 + f) and z = s^2, from the series of atanh.
// REQUIRES: z < 0.0295.
template <class T>
MILLRACE_HD inline T atanh_rest(T z) {
  if constexpr (kIsFloat<T>) {
    return z * polynomial(z, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9);
  } else {
    return z * polynomial(z, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19,
                          2.0 / 21);
  }
}

// exp(t) - 1. REQUIRES: 0 <= t < 80.
template <class T>
MILLRACE_HD inline T positive_expm1(T t) {
  const Reduced<T> reduced = reduce(t);
  const T scale = power_of_two<T>(reduced.n);
  return scale * small_expm1(reduced.r) + (scale - T(1));
}

// -log(erfc(x)), fitted so that 1 - exp(-it) has the precision of T. REQUIRES: 1 <= x <= 4 for float, <= 6 for double.
MILLRACE_HD inline float minus_log_erfc(float x) {
  return polynomial(x - 1, 1.84960551564569432, 2.63896688058598597, 0.843117597023249532, 0.0415035456560884978,
                    -0.00989555068549747943, 0.00182945620786492259, -0.000186399989383173322);
}
MILLRACE_HD inline double minus_log_erfc(double x) {
  const double near =
      polynomial(x - 1, 1.84960550993324827, 2.63896751423478126, 0.843107256359169644, 0.0415610980284672145,
                 -0.0100338251897315179, 0.00197790105951460987, -0.00023731457687524514, -0.0000263058894743654458,
                 0.0000272285600143340858, -9.73182108186130814e-6, 2.21669735992897181e-6, -2.87499226290189223e-7,
                 -2.14809161227989954e-9, 7.85047279022243291e-9, -9.81908752069332639e-10);
  const double far =
      polynomial(x - 2.5, 7.80681527272726471, 5.35268075098633014, 0.943893733525451672, 0.010858072738276942,
                 -0.00216547707541254411, 0.000420934269422903114, -0.0000770384829954584185, 0.0000127757561016318432,
                 -1.80126378907109172e-6, 1.89889579518346741e-7, -1.09220893327292262e-8);
  return x < 2.5 ? near : far;
}

// tanh(x) / x - 1 from the Taylor series, z = x^2. REQUIRES: z <= 0.1225.
template <class T>
MILLRACE_HD inline T small_tanh(T z) {
  if constexpr (kIsFloat<T>) {
    return z * polynomial(z, -1.0 / 3, 2.0 / 15, -17.0 / 315, 62.0 / 2835, -1382.0 / 155925, 21844.0 / 6081075,
                          -929569.0 / 638512875);
  } else {
    return z * polynomial(z, -1.0 / 3, 2.0 / 15, -17.0 / 315, 62.0 / 2835, -1382.0 / 155925, 21844.0 / 6081075,
                          -929569.0 / 638512875, 5.9002744094558598138e-4, -2.3912911424355248149e-4,
                          9.6915379569294503256e-5, -3.9278323883316834053e-5, 1.5918905069328964741e-5,
                          -6.4516892156554307632e-6, 2.6147711512907545543e-6);
  }
}

// erf(x) / x - 1 from the Taylor series, z = x^2. REQUIRES: z <= 1.
template <class T>
MILLRACE_HD inline T small_erf(T z) {
  constexpr double c = 1.1283791670955125739;  // 2 / sqrt(pi)
  if constexpr (kIsFloat<T>) {
    return polynomial(z, 0.1283791670955125739, -c / 3, c / 10, -c / 42, c / 216, -c / 1320, c / 9360, -c / 75600,
                      c / 685440, -c / 6894720, c / 76204800);
  } else {
    return polynomial(z, 0.1283791670955125739, -c / 3, c / 10, -c / 42, c / 216, -c / 1320, c / 9360, -c / 75600,
                      c / 685440, -c / 6894720, c / 76204800, -c / 918086400, c / 11975040000, -c / 168129561600,
                      c / 2528170444800, -c / 40537905408000, c / 690452066304000, -c / 12449059983360000,
                      c / 236887827111936000);
  }
}

}  // namespace math_detail

template <class T>
MILLRACE_HD inline T exp(T x) {
  // Outside these bounds the result is infinite or zero; the bounds themselves give exactly that.
  constexpr T high = static_cast<T>(math_detail::kIsFloat<T> ? 89 : 710),
              low = static_cast<T>(math_detail::kIsFloat<T> ? -104 : -746);
  T bounded = x > high ? high : x;
  bounded = bounded < low ? low : bounded;
  const math_detail::Reduced<T> reduced = math_detail::reduce(bounded);
  const auto half = reduced.n >> 1;
  // In two steps, because some powers of two would overflow or be denormal by themselves.
  return (T(1) + math_detail::small_expm1(reduced.r)) * math_detail::power_of_two<T>(half) *
         math_detail::power_of_two<T>(reduced.n - half);
}

template <class T>
MILLRACE_HD inline T log(T x) {
  using F = math_detail::Format<T>;
  using Limits = std::numeric_limits<T>;
  const bool tiny = x < Limits::min();
  const T normal = tiny ? x * math_detail::power_of_two<T>(F::kMantissaBits + 1) : x;
  // normal = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
  constexpr auto one = std::bit_cast<typename F::Bits>(T(1));
  const typename F::Bits shifted = std::bit_cast<typename F::Bits>(normal) + (one - F::kSqrtHalf);
  const auto exponent = static_cast<typename F::Int>(shifted >> F::kMantissaBits) - F::kBias;
  const T k = static_cast<T>(static_cast<int32_t>(exponent) - (tiny ? F::kMantissaBits + 1 : 0));
  constexpr typename F::Bits mantissa = (typename F::Bits{1} << F::kMantissaBits) - 1;
  const T f = std::bit_cast<T>((shifted & mantissa) + F::kSqrtHalf) - T(1);

  const T s = f / (T(2) + f), half_square = T(0.5) * f * f;
  const T rest = s * (half_square + math_detail::atanh_rest(s * s));
  const T value = k * F::kLn2High - ((half_square - (rest + k * F::kLn2Low)) - f);
  const T outside = x == T(0) ? -Limits::infinity() : Limits::quiet_NaN();
  return x > T(0) ? (x < Limits::infinity() ? value : x) : outside;
}

// log(1 + x), exact even if 1 + x would round away most of x.
template <class T>
MILLRACE_HD inline T log1p(T x) {
  const T u = T(1) + x;
  // The part of x that rounding took from 1 + x. The larger of the two is subtracted first, so both differences are
  // exact.
  const T lost = x < T(1) ? x - (u - T(1)) : T(1) - (u - x);
  const bool regular = u > T(0) && u < std::numeric_limits<T>::infinity();
  const T value = math::log(u) + (regular ? lost / u : T(0));
  return x == T(0) ? x : value;
}

template <class T>
MILLRACE_HD inline T tanh(T x) {
  // From here on the result rounds to 1.
  constexpr T most = static_cast<T>(math_detail::kIsFloat<T> ? 10 : 22);
  const T magnitude = x < T(0) ? -x : x;
  const T bounded = magnitude > most ? most : magnitude;
  const T e = math_detail::positive_expm1(bounded + bounded);
  const T value = e / (e + T(2));
  const T inside = magnitude < T(0.35) ? magnitude : T(0);
  const T small = x + x * math_detail::small_tanh(inside * inside);
  const T inner = x == T(0) ? x : small;
  return magnitude >= T(0.35) ? (x < T(0) ? -value : value) : inner;
}

template <class T>
MILLRACE_HD inline T erf(T x) {
  constexpr T most = static_cast<T>(math_detail::kIsFloat<T> ? 4 : 6);
  const T magnitude = x < T(0) ? -x : x;
  const T bounded = magnitude > most ? most : magnitude;
  const T large = T(1) - math::exp(-math_detail::minus_log_erfc(bounded < T(1) ? T(1) : bounded));
  const T inside = bounded < T(1) ? bounded : T(1);
  const T small = x + x * math_detail::small_erf(inside * inside);
  const T signed_large = x < T(0) ? -large : large;
  return magnitude >= T(1) ? signed_large : small;
}

struct SineCosine {
  double sine, cosine;
};

// Sine and cosine of 2 pi `turns`, within 4e-16 of the true value; exact at whole quarters. REQUIRES: 0 <= turns <= 1.
MILLRACE_HD inline SineCosine sine_cosine(double turns) {
  constexpr double half_pi = 1.5707963267948966192;
  // The nearest quarter and the rest, both exact.
  const int quarter = static_cast<int>(turns * 4 + 0.5);
  const double x = (turns * 4 - quarter) * half_pi, z = x * x;
  const double sine = x + x * z *
                              math_detail::polynomial(z, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880,
                                                      -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000);
  const double cosine = 1 + z * math_detail::polynomial(z, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800,
                                                        1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000);
  switch (quarter & 3) {
    case 0: return {sine, cosine};
    case 1: return {cosine, -sine};
    case 2: return {-sine, -cosine};
    default: return {-cosine, sine};
  }
}

// base^exponent by repeated squaring, 1 for exponent 0; each product is rounded.
MILLRACE_HD inline double power(double base, uint64_t exponent) {
  double out = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) out *= base;
    base *= base;
  }
  return out;
}

}  // namespace millrace::math
