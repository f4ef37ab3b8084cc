#include "millrace/core/random.h"

#include <cmath>

#include "millrace/core/math.h"

namespace millrace {

namespace {

struct SineCosine {
  double sine, cosine;
};

// Of 2 pi `turns`. REQUIRES: 0 <= turns <= 1.
SineCosine sine_cosine(double turns) {
  constexpr double half_pi = 1.5707963267948966192;
  // The nearest quarter and what is left of it, both exact.
  const int quarter = static_cast<int>(turns * 4 + 0.5);
  const double x = (turns * 4 - quarter) * half_pi, z = x * x;
  const double sine = x + x * z *
                              math::detail::polynomial(z, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880,
                                                       -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000);
  const double cosine = 1 + z * math::detail::polynomial(z, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800,
                                                         1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000);
  switch (quarter & 3) {
    case 0: return {sine, cosine};
    case 1: return {cosine, -sine};
    case 2: return {-sine, -cosine};
    default: return {-cosine, sine};
  }
}

}  // namespace

std::array<double, 2> normal_pair(const PhiloxBlock& block) {
  const double u = to_unit(block.word[0] | static_cast<uint64_t>(block.word[1]) << 32);
  const double v = to_unit(block.word[2] | static_cast<uint64_t>(block.word[3]) << 32);
  // A square root is correctly rounded everywhere.
  const double radius = std::sqrt(-2 * math::log(u));
  const SineCosine angle = sine_cosine(v);
  return {radius * angle.cosine, radius * angle.sine};
}

}  // namespace millrace
