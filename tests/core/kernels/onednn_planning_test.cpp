#include "millrace/core/kernels/onednn_planning.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "millrace/core/errors.h"
#include "tests/support/sanitized.h"

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

// Whether `body`, in a process that can take no more memory, says that there is none for the library's code.
template <class Body>
bool lacks_memory(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none = {1 << 20, 1 << 20};
    ::setrlimit(RLIMIT_AS, &none);
    try {
      body();
    } catch (const InternalError& error) {
      ::_exit(std::string_view(error.what()).starts_with("out of memory: 16777216 bytes") ? 7 : 1);
    }
    ::_exit(0);
  }
  int status = 0;
  const bool ended = ::waitpid(child, &status, 0) == child && WIFEXITED(status);
  EXPECT_TRUE(ended && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 7)) << status;
  return ended && WEXITSTATUS(status) == 7;
}

// The library itself would die of it.
TEST(OneDnn, IsNotCalledWithoutMemoryForItsCode) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers reserve most of the address space";
  FirstRun before, none_before;
  before.require_code_memory();
  EXPECT_FALSE(lacks_memory([&] { before.require_code_memory(); }));
  EXPECT_TRUE(lacks_memory([&] { none_before.require_code_memory(); }));
}

// Descriptions of primitives are made before the primitives are, and take memory, too.
TEST(OneDnn, IsNotAskedForAPlanWithoutMemory) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers reserve most of the address space";
  Executor executor(1);
  Context context(Device::cpu(), executor);
  plan_inside(context, "nothing", [](const dnnl::engine&) {});  // the executor begins
  EXPECT_TRUE(lacks_memory([&] { plan_inside(context, "a product", [](const dnnl::engine&) {}); }));
}

TEST(OneDnn, SaysWhenItRanOutOfMemory) {
  EXPECT_EQ(status_text(dnnl_out_of_memory), "out of memory");
  EXPECT_EQ(status_text(dnnl_unimplemented), "status 3");
}

TEST(OneDnn, VersionHasThreeNumbers) {
  EXPECT_THAT(onednn_version(), testing::MatchesRegex("oneDNN [0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace millrace::cpu
