// Images between layers: rows of the shape (channels, height, width), in the layout that suits the device's kernels
// best. On the CPU that is channels last: pixel by pixel, each with all its channels. On CUDA it is the order of the
// shape. On both there are no gaps between the rows.
#pragma once

#include "millrace/core/context.h"
#include "millrace/core/tensor.h"

namespace millrace {

inline bool is_image(const Shape& row) { return row.rank() == 3; }

inline bool channels_last(Device device) { return device.is_cpu(); }

// Whether images of this shape have their values in the order of the shape.
inline bool in_order(Device device, const Shape& row) {
  return !channels_last(device) || row[0] == 1 || row[1] * row[2] == 1;
}

}  // namespace millrace
