#include "millrace/core/kernels/sort.h"

#include <algorithm>

#include "millrace/core/random.h"
#include "tests/support/cuda.h"

namespace millrace {
namespace {

class CudaSort : public test::CudaTest {};

TEST_F(CudaSort, AscendsAsOnTheCpu) {
  for (const size_t count : {1u, 2u, 1000u, 8192u, 300'000u}) {
    std::vector<uint64_t> keys(count);
    for (size_t i = 0; i < count; ++i) keys[i] = i % 7 == 0 ? i % 3 : philox64(23, 1, i);
    const Memory from = upload(keys), to(context().device(), count * sizeof(uint64_t));
    const Memory scratch(context().device(), sort_scratch(context().device(), static_cast<int64_t>(count)));
    sort_keys(context(), static_cast<const uint64_t*>(from.data()), static_cast<uint64_t*>(to.data()),
              static_cast<int64_t>(count), scratch.data());
    const auto sorted = download<uint64_t>(to.data(), count);
    EXPECT_EQ(download<uint64_t>(from.data(), count), keys) << "they stay as they were";
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(sorted, keys) << count;
  }
}

}  // namespace
}  // namespace millrace
