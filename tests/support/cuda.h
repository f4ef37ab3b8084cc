// For tests of the CUDA side: a fixture that skips, and says why, if there is no GPU; and copies to and from the
// device.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/random.h"
#include "millrace/core/tensor.h"
#include "millrace/core/threads/executor.h"

namespace millrace::test {

inline constexpr char kNoGpu[] = "needs a GPU: ";

// Whether the GPUs are emulated (tests/emulated_gpu). Tests then leave out questions to NVIDIA's own libraries, and
// work that would take long.
#if defined(MILLRACE_CUDA_EMULATED)
inline constexpr bool kEmulated = true;
#else
inline constexpr bool kEmulated = false;
#endif

class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const CudaStatus found = cuda_status();
    if (found.usable.empty()) GTEST_SKIP() << kNoGpu << found.reason;
    context_.emplace(Device::cuda(found.usable.front()), executor_);
  }

  Context& context() { return *context_; }

  template <class T>
  Memory upload(const std::vector<T>& values) {
    Memory memory(context().device(), values.size() * sizeof(T));
    context().copy(memory.data(), values.data(), memory.bytes());
    return memory;
  }

  template <class T>
  std::vector<T> download(const void* data, size_t count) {
    std::vector<T> values(count);
    context().copy(values.data(), data, count * sizeof(T));
    context().synchronize();
    return values;
  }

 private:
  Executor executor_{2};
  std::optional<Context> context_;
};

// `count` numbers in (-1, 1), the same ones for the same `name`.
template <class T>
std::vector<T> random_values(size_t count, std::string_view name) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>(2 * to_unit(philox64(7, fnv1a64(name), i)) - 1);
  return values;
}

// The bytes of values, to compare NaN and signed zeros, too.
template <class T>
std::vector<uint8_t> bytes_of(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace millrace::test
