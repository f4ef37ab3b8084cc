// CudnnConvolution: one pass of a convolution by cuDNN, planned once, run many times.
//
// The engine is the first of the library's own list that computes as the precision says, always sums in one order and
// was compiled beforehand; nothing is timed. Images are (batch, channels, height, width) in the order of the shape,
// without gaps. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "millrace/core/context.h"
#include "millrace/core/cuda/cudnn.h"
#include "millrace/core/kernels/images/convolution.h"

namespace millrace::cuda {

// The GPU for which a convolution is planned: the GPU of a handle or, without a handle, a described GPU (a DEVICEPROP
// descriptor).
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  const CudnnDescriptor* device = nullptr;
  Precision precision = Precision::float32;
  // To see what the choice costs (bench/gpu): leaves out the first `skip` engines that would do; with `any_numbers`,
  // engines that round, or that sum in a different order each time, would do, too.
  int skip = 0;
  bool any_numbers = false;
};

class CudnnConvolution {
 public:
  // REQUIRES: `spec` has been checked. Throws DeviceError if no engine will do.
  CudnnConvolution(const Cudnn& library, const CudnnTarget& target, const ConvolutionSpec& spec, ConvolutionPass pass);

  // Bytes that a run needs of the GPU's memory, at most most_workspace().
  size_t workspace() const { return workspace_; }
  // Room for a copy of everything, in the order in which tensor cores want images, and at least kWorkspaceBytes
  // (kernels.h). With less, large convolutions would be left with engines that take several times as long.
  static size_t most_workspace(const ConvolutionSpec& spec);

  // How many engines of the list were tried before the one that was taken, and would not do.
  int passed_over() const { return passed_over_; }
  // The engine that was taken, by the library's number, and how many stood before it in the list.
  int64_t engine() const { return engine_; }
  int64_t place() const { return place_; }

  // The pass writes one of the three and reads the others. Only enqueues, on the handle's stream.
  struct Data {
    const void* x = nullptr;
    const void* weight = nullptr;
    const void* y = nullptr;
    void* workspace = nullptr;
  };
  void run(cudnnHandle_t handle, const Data& data) const;

 private:
  bool take_plan(const CudnnTarget& target, cudnnBackendHeurMode_t mode, size_t most_workspace);

  const Cudnn& library_;
  // As long as a descriptor lives, the library may read the descriptors that it was made from.
  CudnnDescriptor x_, weight_, y_, convolution_, operation_, graph_;
  std::optional<CudnnDescriptor> configuration_, plan_;
  size_t workspace_ = 0;
  int passed_over_ = 0;
  int to_skip_ = 0;
  int64_t engine_ = 0, place_ = 0;
};

}  // namespace millrace::cuda
