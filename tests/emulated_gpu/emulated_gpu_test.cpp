// What the emulated GPU notices: each of these is right on no GPU, and most go well on a real one by chance.
#include "tests/emulated_gpu/emulated_gpu.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/emulated_gpu/language.h"

namespace millrace::emulation {
namespace {

class EmulatedGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess) GTEST_SKIP() << "MILLRACE_EMULATED_GPUS is not set";
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&other_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaHostAlloc(reinterpret_cast<void**>(&pinned_), 8 * sizeof(int), 0), cudaSuccess);
    std::memset(pinned_, 0, 8 * sizeof(int));
    ASSERT_EQ(cudaMallocAsync(reinterpret_cast<void**>(&data_), 8 * sizeof(int), stream_), cudaSuccess);
  }
  void TearDown() override {
    if (stream_ == nullptr) return;
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaFreeHost(pinned_), cudaSuccess);
    EXPECT_EQ(cudaFree(data_), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(other_), cudaSuccess);
  }

  void copy(void* to, const void* from, cudaStream_t stream) {
    ASSERT_EQ(cudaMemcpyAsync(to, from, 4 * sizeof(int), cudaMemcpyDefault, stream), cudaSuccess);
  }

  cudaStream_t stream_ = nullptr, other_ = nullptr;
  int* pinned_ = nullptr;  // the first half goes to the device, the second comes from it
  int* data_ = nullptr;
};

TEST_F(EmulatedGpu, AResultThatNobodyWaitedForIsNotThere) {
  pinned_[0] = 7;
  copy(data_, pinned_, stream_);
  copy(pinned_ + 4, data_, stream_);
  EXPECT_EQ(pinned_[4], 0);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(pinned_[4], 7);
}

TEST_F(EmulatedGpu, WhatIsOverwrittenTooEarlyIsGone) {
  pinned_[0] = 7;
  copy(data_, pinned_, stream_);
  pinned_[0] = 8;
  copy(pinned_ + 4, data_, stream_);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(pinned_[4], 8);
}

TEST_F(EmulatedGpu, StreamsAreOrderedByEventsAlone) {
  pinned_[0] = 7;
  copy(data_, pinned_, stream_);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  pinned_[0] = 9;
  copy(data_, pinned_, stream_);
  copy(pinned_ + 4, data_, other_);
  EXPECT_EQ(cudaStreamSynchronize(other_), cudaSuccess);
  EXPECT_EQ(pinned_[4], 7) << "nothing said that the second copy comes first";
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(other_, event, 0), cudaSuccess);
  copy(pinned_ + 4, data_, other_);
  EXPECT_EQ(cudaStreamSynchronize(other_), cudaSuccess);
  EXPECT_EQ(pinned_[4], 9);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

TEST_F(EmulatedGpu, TheHostMayNotTouchTheDevice) {
  EXPECT_DEATH(static_cast<void>(*static_cast<volatile int*>(data_)), "");
}

TEST_F(EmulatedGpu, CopiesStayInTheirBlocks) {
  EXPECT_DEATH(copy(data_ + 5, pinned_, stream_), "ends beyond its block");
  EXPECT_DEATH(copy(data_, pinned_ + 5, stream_), "ends beyond its pinned block");
}

TEST_F(EmulatedGpu, PinnedMemoryStaysWhileACopyUsesIt) {
  copy(data_, pinned_, stream_);
  EXPECT_DEATH(cudaFreeHost(pinned_), "pinned memory is freed while a copy that uses it waits");
}

#if defined(__SANITIZE_ADDRESS__)
TEST_F(EmulatedGpu, MemoryThatWasGivenBackIsOfNoUse) {
  const auto use_after_free = [&] {
    copy(pinned_ + 4, data_, other_);  // waits until the memory is gone
    cudaFreeAsync(data_, stream_);
    cudaStreamSynchronize(stream_);
    cudaStreamSynchronize(other_);
  };
  EXPECT_DEATH(use_after_free(), "use-after-poison");
}
#endif

TEST_F(EmulatedGpu, RecordingsMayNotWaitNorAllocate) {
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  void* more = nullptr;
  EXPECT_EQ(cudaMalloc(&more, 8), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  static_cast<void>(cudaGetLastError());
}

TEST_F(EmulatedGpu, RecordingsReadNoPageableMemory) {
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  const int values[4] = {};
  EXPECT_DEATH(copy(data_, values, stream_), "a copy of pageable memory is captured");
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(EmulatedGpu, ARecordingEndsWithAllOfItsStreams) {
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  copy(data_, pinned_, stream_);
  EXPECT_EQ(cudaEventRecord(event, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(other_, event, 0), cudaSuccess);
  copy(pinned_ + 4, data_, other_);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  static_cast<void>(cudaGetLastError());
}

// Copies from pinned memory to the device, or back, as a graph.
class EmulatedGraphs : public EmulatedGpu {
 protected:
  cudaGraph_t captured(void* to, const void* from) {
    EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    copy(to, from, stream_);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
    return graph;
  }
  // What comes back of a number where one graph brings it and the other one fetches it.
  int answer(cudaGraph_t whole) {
    cudaGraphExec_t exec = nullptr;
    EXPECT_EQ(cudaGraphInstantiate(&exec, whole, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(whole), cudaSuccess);
    pinned_[0] = 7;
    EXPECT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
    EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    return pinned_[4];
  }
};

TEST_F(EmulatedGraphs, AreCopiedIntoOthers) {
  cudaGraph_t bring = captured(data_, pinned_), fetch = captured(pinned_ + 4, data_), whole = nullptr;
  ASSERT_EQ(cudaGraphCreate(&whole, 0), cudaSuccess);
  cudaGraphNode_t first = nullptr, second = nullptr;
  ASSERT_EQ(cudaGraphAddChildGraphNode(&first, whole, nullptr, 0, bring), cudaSuccess);
  ASSERT_EQ(cudaGraphAddChildGraphNode(&second, whole, &first, 1, fetch), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(bring), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(fetch), cudaSuccess);
  EXPECT_EQ(answer(whole), 7);
}

// A real GPU may run them in either order.
TEST_F(EmulatedGraphs, ThatNameNobodyMayRunBeforeTheOthers) {
  cudaGraph_t bring = captured(data_, pinned_), fetch = captured(pinned_ + 4, data_), whole = nullptr;
  pinned_[0] = 3;
  copy(data_, pinned_, stream_);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  ASSERT_EQ(cudaGraphCreate(&whole, 0), cudaSuccess);
  cudaGraphNode_t node = nullptr;
  ASSERT_EQ(cudaGraphAddChildGraphNode(&node, whole, nullptr, 0, bring), cudaSuccess);
  ASSERT_EQ(cudaGraphAddChildGraphNode(&node, whole, nullptr, 0, fetch), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(bring), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(fetch), cudaSuccess);
  EXPECT_EQ(answer(whole), 3);
}

TEST_F(EmulatedGraphs, NameOnlyNodesOfTheirOwnAndEachOnce) {
  cudaGraph_t part = captured(data_, pinned_), whole = nullptr, other = nullptr;
  ASSERT_EQ(cudaGraphCreate(&whole, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphCreate(&other, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphCreate(&other, 1), cudaErrorInvalidValue);
  cudaGraphNode_t here = nullptr, there = nullptr, node = nullptr;
  ASSERT_EQ(cudaGraphAddChildGraphNode(&here, whole, nullptr, 0, part), cudaSuccess);
  ASSERT_EQ(cudaGraphAddChildGraphNode(&there, other, nullptr, 0, part), cudaSuccess);
  const cudaGraphNode_t twice[] = {here, here};
  EXPECT_EQ(cudaGraphAddChildGraphNode(&node, whole, &there, 1, part), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddChildGraphNode(&node, whole, twice, 2, part), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddChildGraphNode(&node, whole, nullptr, 0, whole), cudaErrorInvalidValue);
  for (const cudaGraph_t graph : {part, whole, other}) EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_DEATH(cudaGraphAddChildGraphNode(&node, whole, nullptr, 0, part), "a graph that is none, or was destroyed");
  static_cast<void>(cudaGetLastError());
}

// y[i] = the sum of the block's x, which every thread reads after all have written it.
__global__ void sum_of_block(const int* x, int* y) {
  __shared__ int values[4];
  values[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  int sum = 0;
  for (const int value : values) sum += value;
  y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void some_come_to_the_barrier() {
  if (threadIdx.x > 0) __syncthreads();
}

TEST_F(EmulatedGpu, ThreadsOfABlockMeet) {
  for (int i = 0; i < 4; ++i) pinned_[i] = 1 << i;
  copy(data_, pinned_, stream_);
  const int* from = data_;
  int* to = data_ + 4;
  void* arguments[] = {&from, &to};
  EXPECT_EQ(cudaLaunchKernel(MILLRACE_KERNEL_ADDRESS(sum_of_block), dim3(1), dim3(4), arguments, 0, stream_),
            cudaSuccess);
  from = to = nullptr;  // a launch takes its arguments along
  copy(pinned_ + 4, data_ + 4, stream_);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  for (int i = 4; i < 8; ++i) EXPECT_EQ(pinned_[i], 15);
}

// Kernels run on the host here, where they could read it.
TEST_F(EmulatedGpu, KernelsAreGivenNoStackOfTheHost) {
  const int values[4] = {};
  const int* from = values;
  int* to = data_;
  void* arguments[] = {&from, &to};
  EXPECT_DEATH(cudaLaunchKernel(MILLRACE_KERNEL_ADDRESS(sum_of_block), dim3(1), dim3(4), arguments, 0, stream_),
               "a kernel is given an address in the stack of the host");
}

struct Addresses {
  const int* first;
  bool flag;
  std::array<const int*, 2> more;
};
struct Holder : Addresses {
  explicit Holder(const Addresses& addresses) : Addresses(addresses), own(addresses) {}
  Addresses own;
};
__global__ void takes_addresses(Holder) {}

TEST_F(EmulatedGpu, KernelsAreGivenNoStackOfTheHostWithinARecord) {
  const int value = 0;
  Holder holder({});
  const auto launch = [&] {
    void* arguments[] = {&holder};
    return cudaLaunchKernel(MILLRACE_KERNEL_ADDRESS(takes_addresses), dim3(1), dim3(1), arguments, 0, stream_);
  };
  for (const int** member : {&holder.first, &holder.more[1], &holder.own.first, &holder.own.more[0]}) {
    *member = &value;
    EXPECT_DEATH(launch(), "an address in the stack of the host");
    *member = nullptr;
  }
  // What lies behind the flag is no member.
  const int* const address = &value;
  std::memcpy(&holder.flag, &address, sizeof address);
  holder.flag = false;
  EXPECT_EQ(launch(), cudaSuccess);
}

TEST_F(EmulatedGpu, AllThreadsOfABlockComeToABarrier) {
  const auto launch = [&] {
    cudaLaunchKernel(MILLRACE_KERNEL_ADDRESS(some_come_to_the_barrier), dim3(1), dim3(4), nullptr, 0, stream_);
    cudaStreamSynchronize(stream_);
  };
  EXPECT_DEATH(launch(), "not all threads of a block come to");
}

// In a process of its own, whose environment is read by its first kernel.
class EmulatedFault : public EmulatedGpu {
 protected:
  void launch(const char* fault) {
    setenv("MILLRACE_EMULATED_FAULT", fault, 1);
    for (int i = 0; i < 4; ++i) pinned_[i] = 1;
    copy(data_, pinned_, stream_);
    for (int i = 0; i < 2; ++i) {
      const int* from = data_;
      int* to = data_ + 4 * i;
      void* arguments[] = {&from, &to};
      cudaLaunchKernel(MILLRACE_KERNEL_ADDRESS(sum_of_block), dim3(1), dim3(4), arguments, 0, stream_);
    }
    stopped_ = cudaStreamSynchronize(stream_);
    last_ = cudaMemcpyAsync(pinned_ + 4, data_, 4 * sizeof(int), cudaMemcpyDefault, stream_);
  }
  cudaError_t stopped_ = cudaSuccess, last_ = cudaSuccess;
};

TEST_F(EmulatedFault, WrongKernelsDoNothing) {
  const auto sums = [this](const char* fault) {
    launch(fault);
    cudaStreamSynchronize(stream_);
    std::_Exit(last_ == cudaSuccess ? pinned_[4] : 100);
  };
  EXPECT_EXIT(sums("wrong@1"), ::testing::ExitedWithCode(1), "");
  EXPECT_EXIT(sums("wrong@2"), ::testing::ExitedWithCode(4), "");
}

TEST_F(EmulatedFault, AStickyErrorIsReturnedFromThenOn) {
  const auto errors = [this] {
    launch("sticky@2");
    std::_Exit(stopped_ == cudaErrorIllegalAddress && last_ == stopped_ ? 0 : 1);
  };
  EXPECT_EXIT(errors(), ::testing::ExitedWithCode(0), "");
}

TEST_F(EmulatedFault, ACrashEndsTheProcessAndAHangDoesNot) {
  EXPECT_DEATH(launch("crash@2"), "a planted crash");
  const auto hangs = [this] {
    alarm(1);
    launch("hang@1");
  };
  EXPECT_EXIT(hangs(), ::testing::KilledBySignal(SIGALRM), "");
}

}  // namespace
}  // namespace millrace::emulation
