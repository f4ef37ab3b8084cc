#include "millrace/layers/inputs/widen.h"

#include <cstdint>

#include "millrace/core/parallel.h"

namespace millrace {

namespace {

struct WidenByte {
  const uint8_t* from;
  float* to;
  int64_t from_stride, to_stride;
  MILLRACE_HD void operator()(int64_t row, int64_t column) const {
    to[row * to_stride + column] = static_cast<float>(from[row * from_stride + column]);
  }
};

}  // namespace

void widen(Context& context, const ConstTensorView& from, const TensorView& to) {
  for_each_row_column(context, from.rows(), from.columns(),
                      WidenByte{from.as<uint8_t>(), to.as<float>(), from.stride(), to.stride()});
}

}  // namespace millrace
