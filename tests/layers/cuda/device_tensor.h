// DeviceTensor: a tensor of a context's device that is filled from the host, with NaN between its rows.
#pragma once

#include <vector>

#include "millrace/core/context.h"
#include "tests/layers/layer_run.h"

namespace millrace::testing {

class DeviceTensor {
 public:
  DeviceTensor(Context& context, const TensorSpec& spec)
      : context_(context),
        host_(Device::cpu(), spec, Tensor::Rows::padded),
        device_(context.device(), spec, Tensor::Rows::padded) {}

  void write(const std::vector<double>& values) {
    write_values(host_.view(), values);
    context_.copy(device_.view().data(), host_.view().data(), bytes());
  }
  std::vector<double> read() {
    context_.copy(host_.view().data(), device_.view().data(), bytes());
    context_.synchronize();
    return read_values(host_.view());
  }
  TensorView view() { return device_.view(); }

 private:
  size_t bytes() { return host_.view().row_bytes() * static_cast<size_t>(host_.view().rows()); }

  Context& context_;
  Tensor host_, device_;
};

}  // namespace millrace::testing
