#include "millrace/core/kernels/images/weight_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace millrace::cpu {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

// Three outputs of two inputs of two pixels, in blocks of eight outputs.
TEST(WeightLayout, ChangesInwardsAndOutwards) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const memory::desc plain({3, 2, 1, 2}, memory::data_type::f32, Tag::oihw),
      inner({3, 2, 1, 2}, memory::data_type::f32, Tag::Ohwi8o);
  std::vector<float> weight(12), back(12, std::nanf(""));
  std::iota(weight.begin(), weight.end(), 1.0F);
  WeightLayout in(engine, plain, inner, WeightLayout::Way::inwards);
  in.change(weight.data());
  const auto* const blocked = static_cast<const float*>(in.inner());
  // Pixel by pixel, input by input, the outputs, those that are not there as zeros.
  EXPECT_EQ(std::vector<float>(blocked, blocked + 8), (std::vector<float>{1, 5, 9, 0, 0, 0, 0, 0}));
  EXPECT_EQ(std::vector<float>(blocked + 24, blocked + 32), (std::vector<float>{4, 8, 12, 0, 0, 0, 0, 0}));
  EXPECT_GE(in.bytes(), inner.get_size());

  WeightLayout out(engine, plain, inner, WeightLayout::Way::outwards);
  std::copy_n(blocked, 32, static_cast<float*>(out.inner()));
  out.change(back.data());
  EXPECT_EQ(back, weight);
}

}  // namespace
}  // namespace millrace::cpu
