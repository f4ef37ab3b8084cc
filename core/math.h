// exp, log, log1p, tanh and erf of this library: at most 2 ulp from the true value, and the same bits on every machine.
//
// Templates over float and double for host and device; they call no function of a C library. Without branches for
// float, so that loops over them are vectorised. NaN gives NaN; infinities, zeros and denormals are treated as IEC
// 60559 asks, except that no floating-point exception flag is promised. REQUIRES: rounding to nearest.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "millrace/core/hd.h"

namespace millrace::math {

namespace detail {

template <class T>
struct Format;
template <>
struct Format<float> {
  using Int = int32_t;
  using Bits = uint32_t;
  static constexpr int kMantissaBits = 23, kBias = 127;
  static constexpr float kRoundToInteger = 0x1.8p23f;
  // The high part has so few bits that its product with an exponent is exact.
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

// 2^n. REQUIRES: the result is a normal number; else it is garbage, but not undefined.
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
  // In the sum's last bits stands the nearest integer.
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
  return polynomial((x - 2.5f) * static_cast<float>(1 / 1.5), 7.80681789177035896, 8.02904089698813896,
                    2.12373678609694848, 0.036149648411363108, -0.0124822456389753395, 0.00115315880406800416,
                    -0.00212321237906770862);
}
MILLRACE_HD inline double minus_log_erfc(double x) {
  const double near =
      polynomial((x - 1.75) * (1 / 0.75), 4.31786352543322263, 2.96970817561005646, 0.51184134365440419,
                 0.00866482328618976974, -0.00146335691522357551, 0.000228785126940106569, -0.0000310613604220010126,
                 3.16910831189142176e-6, -8.28270940007368902e-8, -6.68960203347705488e-8, 2.25984276956748303e-8,
                 -4.78004260637641672e-9, 7.64431587624369823e-10, -5.84326326339135113e-11, -1.74955990984153146e-11);
  const double far =
      polynomial((x - 4.25) * (1 / 1.75), 20.1077699015339989, 15.2666075037281392, 2.98925902548670183,
                 0.0174916330251419834, -0.00450709047326199633, 0.00118654164554410426, -0.000316519138038980269,
                 0.0000738454528404808984, -0.0000277704921758794276, -1.91956689371934398e-7, -2.94229498277943804e-6);
  return x < 2.5 ? near : far;
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

}  // namespace detail

template <class T>
MILLRACE_HD inline T exp(T x) {
  // Beyond these bounds the result is infinite or zero; the bounds themselves give just that.
  constexpr T high = static_cast<T>(detail::kIsFloat<T> ? 89 : 710),
              low = static_cast<T>(detail::kIsFloat<T> ? -104 : -746);
  T bounded = x > high ? high : x;
  bounded = bounded < low ? low : bounded;
  const detail::Reduced<T> reduced = detail::reduce(bounded);
  const auto half = reduced.n >> 1;
  // In two steps, for results whose power of two alone would overflow or be denormal.
  return (T(1) + detail::small_expm1(reduced.r)) * detail::power_of_two<T>(half) *
         detail::power_of_two<T>(reduced.n - half);
}

template <class T>
MILLRACE_HD inline T log(T x) {
  using F = detail::Format<T>;
  using Limits = std::numeric_limits<T>;
  const bool tiny = x < Limits::min();
  const T normal = tiny ? x * detail::power_of_two<T>(F::kMantissaBits + 1) : x;
  // normal = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
  constexpr auto one = std::bit_cast<typename F::Bits>(T(1));
  const typename F::Bits shifted = std::bit_cast<typename F::Bits>(normal) + (one - F::kSqrtHalf);
  const auto exponent = static_cast<typename F::Int>(shifted >> F::kMantissaBits) - F::kBias;
  const T k = static_cast<T>(static_cast<int32_t>(exponent) - (tiny ? F::kMantissaBits + 1 : 0));
  constexpr typename F::Bits mantissa = (typename F::Bits{1} << F::kMantissaBits) - 1;
  const T f = std::bit_cast<T>((shifted & mantissa) + F::kSqrtHalf) - T(1);

  const T s = f / (T(2) + f), half_square = T(0.5) * f * f;
  const T rest = s * (half_square + detail::atanh_rest(s * s));
  const T value = k * F::kLn2High - ((half_square - (rest + k * F::kLn2Low)) - f);
  const T outside = x == T(0) ? -Limits::infinity() : Limits::quiet_NaN();
  return x > T(0) ? (x < Limits::infinity() ? value : x) : outside;
}

// log(1 + x), exact also where 1 + x would round away most of x.
template <class T>
MILLRACE_HD inline T log1p(T x) {
  const T u = T(1) + x;
  // What rounding took from 1 + x. The larger of the two is subtracted first, so both differences are exact.
  const T lost = x < T(1) ? x - (u - T(1)) : T(1) - (u - x);
  const bool regular = u > T(0) && u < std::numeric_limits<T>::infinity();
  const T value = math::log(u) + (regular ? lost / u : T(0));
  return x == T(0) ? x : value;
}

template <class T>
MILLRACE_HD inline T tanh(T x) {
  // From here on the result rounds to 1.
  constexpr T most = static_cast<T>(detail::kIsFloat<T> ? 10 : 22);
  const T magnitude = x < T(0) ? -x : x;
  const T bounded = magnitude > most ? most : magnitude;
  const T e = detail::positive_expm1(bounded + bounded);
  const T value = e / (e + T(2));
  return x < T(0) ? -value : (x == T(0) ? x : value);
}

template <class T>
MILLRACE_HD inline T erf(T x) {
  constexpr T most = static_cast<T>(detail::kIsFloat<T> ? 4 : 6);
  const T magnitude = x < T(0) ? -x : x;
  const T bounded = magnitude > most ? most : magnitude;
  const T large = T(1) - math::exp(-detail::minus_log_erfc(bounded < T(1) ? T(1) : bounded));
  const T inside = bounded < T(1) ? bounded : T(1);
  const T small = x + x * detail::small_erf(inside * inside);
  const T signed_large = x < T(0) ? -large : large;
  return magnitude >= T(1) ? signed_large : small;
}

}  // namespace millrace::math
