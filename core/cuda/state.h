// State: what a Context holds on a CUDA device: its stream, the library handles made on it, and a shared workspace.
//
// Owned by one Context and used by one thread at a time.
#pragma once

#include <memory>

#include "millrace/core/cuda/backend.h"
#include "millrace/core/cuda/handles.h"
#include "millrace/core/export.h"

struct cudnnContext;

namespace millrace::cuda {

class CublasLt;
class Cudnn;

class MILLRACE_EXPORT State {
 public:
  // Throws DeviceError.
  explicit State(Device device);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  int device() const { return stream_.device(); }
  cudaStream_t stream() const { return stream_.get(); }
  const Stream& whole_stream() const { return stream_; }

  // Opens cuBLASLt at the first call. Throws DeviceError when it is not there.
  const CublasLt& cublaslt();
  // The same for cuDNN, with a handle on the stream.
  const Cudnn& cudnn();
  cudnnContext* cudnn_handle();

  // At least kWorkspaceBytes (kernels.h) of device memory for the duration of one call; everyone on this stream shares
  // it, one call after the other. Whoever asks for more than there is makes a new one. It lives as long as any of its
  // holders.
  std::shared_ptr<const Memory> workspace(size_t bytes = 0);

 private:
  struct CudnnOnStream;
  const CudnnOnStream& cudnn_on_stream();

  Stream stream_;
  std::unique_ptr<const CublasLt> cublaslt_;
  std::unique_ptr<CudnnOnStream> cudnn_;
  std::shared_ptr<const Memory> workspace_;
};

}  // namespace millrace::cuda
