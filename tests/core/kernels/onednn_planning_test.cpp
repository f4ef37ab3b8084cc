#include "millrace/core/kernels/onednn_planning.h"

#include <gmock/gmock.h>

#include <thread>
#include <vector>

namespace millrace::cpu {
namespace {

TEST(OneDnn, LetsThreadsMakePrimitivesInTurn) {
  std::vector<std::thread> threads;
  std::vector<int> made(4);
  for (int& one : made) {
    threads.emplace_back([&one] {
      Executor executor(1);
      Context context(Device::cpu(), executor);
      plan_inside(context, "a product", [&](const dnnl::engine& engine) {
        const dnnl::memory::desc rows({4, 16}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ab);
        const dnnl::matmul::primitive_desc product(
            {rows,
             {{16, 8}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ab},
             {{4, 8}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ab}},
            engine);
        one = dnnl::matmul(product) ? 1 : 0;
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, (std::vector<int>(4, 1)));
}

TEST(OneDnn, VersionHasThreeNumbers) {
  EXPECT_THAT(onednn_version(), testing::MatchesRegex("oneDNN [0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace millrace::cpu
