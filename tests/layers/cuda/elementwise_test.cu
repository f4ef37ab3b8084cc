// Elementwise passes on the device against the CPU; compiled as CUDA, as layers are.

#include <gtest/gtest.h>

#include <vector>

#include "millrace/layers/simple_layer.h"
#include "tests/support/cuda.h"

namespace millrace {
namespace {

// x plus its index; the draws keep the step where the device reads it.
struct Number {
  Draws draws;
  template <class T>
  MILLRACE_HD T operator()(T x, int64_t i) const {
    return x + static_cast<T>(draws.unit(i)) + static_cast<T>(i);
  }
};

struct NumberGradient {
  Draws draws;
  template <class T>
  MILLRACE_HD T operator()(T x, T dy, int64_t i) const {
    return x - dy + static_cast<T>(draws.unit(i));
  }
};

class CudaElementwise : public test::CudaTest {
 protected:
  // Both passes over padded rows, the second added to the first.
  template <class T>
  std::vector<T> run(Context& context, const std::vector<T>& values, const uint64_t* step) {
    Tensor x(context.device(), {Shape{kRows, kColumns}, DTypeOf<T>::value}, Tensor::Rows::padded);
    Tensor y(context.device(), x.spec(), Tensor::Rows::padded);
    context.copy(x.view().data(), values.data(), values.size() * sizeof(T));
    const Draws draws{.seed = 7, .stream = fnv1a64("dropout"), .step = step};
    map_indexed(context, x.view(), y.view(), Number{draws});
    zip_indexed(context, x.view(), y.view(), Destination{.view = y.view(), .beta = 1}, NumberGradient{draws});
    std::vector<T> out(values.size());
    context.copy(out.data(), y.view().data(), out.size() * sizeof(T));
    context.synchronize();
    return out;
  }

  template <class T>
  void check() {
    const TensorView rows(nullptr, DTypeOf<T>::value, {kRows, kColumns}, aligned_bytes(kColumns * sizeof(T)));
    std::vector<T> values(rows.bytes() / sizeof(T));
    // Eighths, so that every sum but the draws' is exact.
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i % 64) / 8;
    const uint64_t step = 5;
    const Memory device_step = upload(std::vector<uint64_t>{step});
    Executor executor(2);
    Context cpu(Device::cpu(), executor);
    EXPECT_EQ(run<T>(context(), values, static_cast<const uint64_t*>(device_step.data())), run<T>(cpu, values, &step));
  }

  static constexpr int64_t kRows = 37, kColumns = 21;
};

TEST_F(CudaElementwise, GivesEachValueItsIndexAndItsDraw) {
  check<float>();
  check<double>();
}

}  // namespace
}  // namespace millrace
