#include "millrace/trainer/step/step_numbers.h"

#include <gtest/gtest.h>

#include "millrace/core/threads/executor.h"
#include "millrace/layers/catalog.h"

namespace millrace {
namespace {

// Scalars that tell which updates came before.
class Counting final : public Optimizer {
 public:
  int scalar_count() const override { return 2; }
  void scalars(uint64_t updates, std::span<float> out) const override {
    out[0] = static_cast<float>(updates);
    out[1] = -out[0];
  }
  void update(Context&, const UpdateArgs&) const override {}
};

TEST(StepNumbers, ArriveWhenTheyAreBrought) {
  const Counting optimizer;
  Executor executor(1);
  Context context(Device::cpu(), executor);
  StepNumbers numbers(Device::cpu(), optimizer);
  for (const uint64_t step : {uint64_t{0}, uint64_t{1} << 40}) {
    numbers.write(step, step + 3);
    numbers.bring(context);
    numbers.write(7, 7);
    EXPECT_EQ(*numbers.pass(), step);
    EXPECT_EQ(numbers.scalars()[0], static_cast<float>(step + 3));
    EXPECT_EQ(numbers.scalars()[1], -static_cast<float>(step + 3));
  }
  EXPECT_EQ(numbers.bytes(), 2 * (sizeof(uint64_t) + 2 * sizeof(float)));
}

}  // namespace
}  // namespace millrace
