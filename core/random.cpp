#include "millrace/core/random.h"

#include <cmath>

#include "millrace/core/math.h"

namespace millrace {

std::array<double, 2> normal_pair(const PhiloxBlock& block) {
  const double u = to_unit(block.word[0] | static_cast<uint64_t>(block.word[1]) << 32);
  const double v = to_unit(block.word[2] | static_cast<uint64_t>(block.word[3]) << 32);
  // std::sqrt() is correctly rounded on every machine.
  const double radius = std::sqrt(-2 * math::log(u));
  const math::SineCosine angle = math::sine_cosine(v);
  return {radius * angle.cosine, radius * angle.sine};
}

}  // namespace millrace
