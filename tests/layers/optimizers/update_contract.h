// keeps_update_contract: whether an optimizer keeps what layers/optimizer.h asks of every one, in both dtypes, with and
// without weight decay, over several updates.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/layers/layer_run.h"

namespace millrace::testing {

// Runs some updates of a block in whose middle lies padding; the same numbers for every way to do so.
struct UpdateRun {
  static constexpr int64_t kCount = 40000, kPadding = 20000, kPaddingEnd = 20016;
  static constexpr int kUpdates = 3;

  DType dtype = DType::f32;
  bool decay = false;
  double factor = 1;               // of the gradients given
  const float* scale = nullptr;    // gradient_scale
  std::vector<int64_t> cuts = {};  // where the block is cut into several calls
  int threads = 2;

  // The parameters and then the slots, after the updates.
  std::vector<std::vector<double>> values(const Optimizer& optimizer) const {
    Executor executor(threads);
    Context context(Device::cpu(), executor);
    std::vector<Tensor> tensors;  // gradients, parameters, slots
    for (int i = 0; i < 2 + optimizer.state_slots(); ++i) tensors.emplace_back(Device::cpu(), spec());
    write_values(tensors[1].view(), numbers("parameters", 1));
    std::vector<float> scalars(static_cast<size_t>(optimizer.scalar_count()));
    for (int step = 0; step < kUpdates; ++step) {
      write_values(tensors[0].view(), numbers("gradients" + std::to_string(step), factor));
      optimizer.scalars(static_cast<uint64_t>(step), scalars);
      int64_t begin = 0;
      for (size_t i = 0; i <= cuts.size(); ++i) {
        const int64_t end = i < cuts.size() ? cuts[i] : kCount;
        std::vector<TensorView> slots;
        for (size_t k = 2; k < tensors.size(); ++k) slots.push_back(part(tensors[k], begin, end));
        optimizer.update(context, {.parameters = part(tensors[1], begin, end),
                                   .gradients = part(tensors[0], begin, end),
                                   .slots = slots,
                                   .scalars = scalars.data(),
                                   .gradient_scale = scale,
                                   .decay = decay});
        begin = end;
      }
    }
    std::vector<std::vector<double>> out;
    for (size_t k = 1; k < tensors.size(); ++k) out.push_back(read_values(tensors[k].view()));
    return out;
  }

 private:
  TensorSpec spec() const { return {Shape{kCount}, dtype}; }
  TensorView part(Tensor& tensor, int64_t begin, int64_t end) const {
    auto* const data = static_cast<std::byte*>(tensor.view().data()) + static_cast<size_t>(begin) * size_of(dtype);
    return TensorView(data, dtype, Shape{end - begin});
  }
  static std::vector<double> numbers(const std::string& name, double factor) {
    std::vector<double> out = draws(name, kCount);
    for (double& value : out) value *= factor;
    std::fill(out.begin() + kPadding, out.begin() + kPaddingEnd, 0.0);
    return out;
  }
};

inline ::testing::AssertionResult keeps_update_contract(const Optimizer& optimizer) {
  const auto bytes = [&](const UpdateRun& run) {
    std::string out;
    for (const std::vector<double>& values : run.values(optimizer)) {
      out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
    }
    return out;
  };
  // A power of two, so that the scaled gradients are exact.
  const float one = 1, quarter = 0.25F;
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const bool decay : {false, true}) {
      const auto fault = [&](const char* what) {
        return ::testing::AssertionFailure() << to_string(dtype) << (decay ? ", with decay: " : ": ") << what;
      };
      const UpdateRun plain{.dtype = dtype, .decay = decay};
      const std::string expected = bytes(plain);
      UpdateRun other = plain;
      other.scale = &one;
      if (bytes(other) != expected) return fault("a gradient_scale of 1 is not the same as none");
      other.scale = &quarter;
      UpdateRun scaled = plain;
      scaled.factor = 0.25;
      if (bytes(other) != bytes(scaled)) return fault("gradients are not multiplied by gradient_scale");

      other = plain;
      other.cuts = {16, 7000, UpdateRun::kPaddingEnd, 39984};
      if (bytes(other) != expected) return fault("updates of parts differ from that of the whole");
      for (const int threads : {1, 8}) {
        other = plain;
        other.threads = threads;
        if (bytes(other) != expected) return fault("the number of threads changes the result");
      }
      for (const std::vector<double>& values : plain.values(optimizer)) {
        for (int64_t i = UpdateRun::kPadding; i < UpdateRun::kPaddingEnd; ++i) {
          if (values[static_cast<size_t>(i)] != 0) return fault("padding does not stay 0");
        }
      }
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace millrace::testing
