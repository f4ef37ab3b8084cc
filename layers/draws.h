// Draws: the random numbers of one layer. Each value of a step has its own, which backward draws again.
//
//   struct Drop {                                              // a functor for map_indexed (elementwise.h)
//     Draws draws; double rate;
//     template <class T> MILLRACE_HD T operator()(T x, int64_t i) const { return draws.unit(i) < rate ? T(0) : x; }
//   };
//
// Draws is a value, copied to where it runs. Draw i is philox(seed, fnv1a64(layer's name), step << 32 | i). So no two
// steps share a draw, whatever the sizes of their batches, until 2^32 steps are over.
#pragma once

#include <cstdint>

#include "millrace/core/errors.h"
#include "millrace/core/hd.h"
#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "millrace/layers/layer.h"

namespace millrace {

struct Draws {
  uint64_t seed = 0;
  uint64_t stream = 0;             // fnv1a64 of the layer's name
  const uint64_t* step = nullptr;  // ForwardArgs::step

  // 64 random bits, and a number in (0, 1), for value i of this step. REQUIRES: i is below the `values` planned for.
  MILLRACE_HD uint64_t bits(int64_t i) const { return philox64(seed, stream, *step << 32 | static_cast<uint64_t>(i)); }
  MILLRACE_HD double unit(int64_t i) const { return to_unit(bits(i)); }
};

// The draws of a layer that makes up to `values` of them in a step; each call of the plan sets `step`. Throws
// ShapeError for 2^32 values and more.
inline Draws plan_draws(const PlanArgs& args, int64_t values) {
  constexpr int64_t most = (int64_t{1} << 32) - 1;
  if (values > most) {
    throw ShapeError(cat("expected at most ", most, " values a batch to draw for, got ", values), {},
                     "use smaller batches");
  }
  return {args.seed, fnv1a64(args.name), nullptr};
}

}  // namespace millrace
