#include "millrace/core/cuda/cudnn_convolution.h"

#include <algorithm>
#include <vector>

#include "millrace/core/cuda/kernels.h"
#include "millrace/core/errors.h"
#include "millrace/core/library_call.h"
#include "millrace/core/text.h"

namespace millrace::cuda {

namespace {

using Pass = ConvolutionPass;

// The tensors' names when a plan runs.
constexpr int64_t kX = 1, kWeight = 2, kY = 3;

// The names of the parts in the descriptor of a pass.
struct Names {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t convolution, x, weight, y, alpha, beta;
};

Names names_of(Pass pass) {
  switch (pass) {
    case Pass::forward: break;
    case Pass::input_gradient:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case Pass::weight_gradient:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
}

std::string_view name_of(Pass pass) {
  switch (pass) {
    case Pass::forward: return "a convolution";
    case Pass::input_gradient: return "the gradient of a convolution's input";
    case Pass::weight_gradient: return "the gradient of a convolution's weight";
  }
  return "";
}

cudnnDataType_t type_of(DType dtype) { return dtype == DType::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT; }

CudnnDescriptor describe_tensor(const Cudnn& library, int64_t name, const TensorSpec& tensor) {
  constexpr int64_t kAlignment = 16;
  const Shape& shape = tensor.shape;
  CudnnDescriptor out(library, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  out.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, {name});
  out.set(CUDNN_ATTR_TENSOR_DATA_TYPE, {type_of(tensor.dtype)});
  out.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {kAlignment});
  out.set(CUDNN_ATTR_TENSOR_DIMENSIONS, {shape[0], shape[1], shape[2], shape[3]});
  out.set(CUDNN_ATTR_TENSOR_STRIDES, {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], int64_t{1}});
  out.finalize();
  return out;
}

CudnnDescriptor describe_convolution(const Cudnn& library, const ConvolutionSpec& spec) {
  const ConvolutionSpec::Axis &high = spec.height, &wide = spec.width;
  CudnnDescriptor out(library, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  out.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {int64_t{2}});
  out.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, {type_of(spec.dtype)});
  out.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, {CUDNN_CROSS_CORRELATION});
  out.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {high.before, wide.before});
  out.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {high.after, wide.after});
  out.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, {high.dilation, wide.dilation});
  out.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {high.stride, wide.stride});
  out.finalize();
  return out;
}

// Whether an engine computes every product by itself, always sums in the same order, and computes in the dtype's full
// width or, if that is allowed, on tensor cores, which round float32 to TF32. An engine that first converts its inputs
// would convert them to float16.
bool is_exact(cudnnBackendNumericalNote_t note, Precision precision) {
  return note == CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP ||
         (precision == Precision::tf32 && note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}
// Whether an engine can be used at once. Other engines are compiled when they are planned, which needs a compiler and
// takes seconds, or are a part of another library, which may be missing.
bool is_ready(cudnnBackendBehaviorNote_t note) { return note == CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API; }

bool will_do(const CudnnDescriptor& engine, const CudnnTarget& target) {
  const auto numbers = engine.list<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
  const auto behaviour = engine.list<cudnnBackendBehaviorNote_t>(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE);
  const auto is_right = [&](auto note) { return target.any_numbers || is_exact(note, target.precision); };
  return std::all_of(numbers.begin(), numbers.end(), is_right) &&
         std::all_of(behaviour.begin(), behaviour.end(), is_ready);
}

// Says in a message which engines are suitable.
std::string asked_of(const CudnnTarget& target) {
  const char* const width = target.precision == Precision::tf32 ? "full width or TF32" : "full width";
  const std::string numbers = target.any_numbers ? " that is compiled beforehand"
                                                 : cat(" that computes in ", width, " and always in one order");
  return target.skip > 0 ? cat(numbers, ", after ", target.skip, " that would do") : numbers;
}

}  // namespace

CudnnConvolution::CudnnConvolution(const Cudnn& library, const CudnnTarget& target, const ConvolutionSpec& spec,
                                   Pass pass)
    : library_(library),
      x_(describe_tensor(library, kX, spec.input())),
      weight_(describe_tensor(library, kWeight, spec.weight())),
      y_(describe_tensor(library, kY, spec.output())),
      convolution_(describe_convolution(library, spec)),
      operation_(library, names_of(pass).type),
      graph_(library, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR),
      to_skip_(target.skip) {
  const Names names = names_of(pass);
  operation_.set(names.convolution, convolution_);
  operation_.set(names.x, x_);
  operation_.set(names.weight, weight_);
  operation_.set(names.y, y_);
  if (spec.dtype == DType::f64) {
    operation_.set(names.alpha, {1.0});
    operation_.set(names.beta, {0.0});
  } else {
    operation_.set(names.alpha, {1.0F});
    operation_.set(names.beta, {0.0F});
  }
  operation_.finalize();

  if (target.handle != nullptr) graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, {target.handle});
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation_);
  graph_.finalize();

  const size_t most = most_workspace(spec);
  if (take_plan(target, CUDNN_HEUR_MODE_A, most) || take_plan(target, CUDNN_HEUR_MODE_FALLBACK, most)) return;
  throw DeviceError(
      cat("cuDNN has no way to ", name_of(pass), " of ", spec.input().text(), " with ", spec.weight().text(),
          asked_of(target)),
      {}, cat(library.library().path(), " is version ", library.get_version(), "; use another, or device: cpu"));
}

size_t CudnnConvolution::most_workspace(const ConvolutionSpec& spec) {
  constexpr size_t kBeside = size_t{1} << 20;  // for an engine's own numbers
  return std::max(kWorkspaceBytes, spec.input().bytes() + spec.weight().bytes() + spec.output().bytes() + kBeside);
}

bool CudnnConvolution::take_plan(const CudnnTarget& target, cudnnBackendHeurMode_t mode, size_t most_workspace) {
  CudnnDescriptor search(library_, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  search.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_);
  search.set(CUDNN_ATTR_ENGINEHEUR_MODE, {mode});
  if (target.device != nullptr) search.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *target.device);
  // The shapes may be too large for any engine.
  if (!search.try_finalize(true)) return false;

  const int64_t most = search.descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, {});
  std::vector<CudnnDescriptor> found;
  for (int64_t i = 0; i < most; ++i) found.emplace_back(library_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  const int64_t count = most > 0 ? search.descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, found) : 0;
  for (int64_t i = 0; i < std::min(count, most); ++i, ++place_) {
    CudnnDescriptor& configuration = found[static_cast<size_t>(i)];
    const CudnnDescriptor engine(library_, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    static_cast<void>(configuration.descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, {&engine, 1}));
    if (!will_do(engine, target)) {
      ++passed_over_;
      continue;
    }

    CudnnDescriptor plan(library_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    if (target.handle != nullptr) plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, {target.handle});
    if (target.device != nullptr) plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *target.device);
    if (!plan.try_finalize()) continue;
    const auto workspace = plan.value<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
    if (workspace > static_cast<int64_t>(most_workspace)) continue;
    if (to_skip_-- > 0) continue;
    engine_ = engine.value<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
    workspace_ = static_cast<size_t>(workspace);
    configuration_.emplace(std::move(configuration));
    plan_.emplace(std::move(plan));
    return true;
  }
  return false;
}

void CudnnConvolution::run(cudnnHandle_t handle, const Data& data) const {
  const LibraryCall mark;
  // The library takes pointers to mutable data, also for what it only reads.
  void* const addresses[] = {const_cast<void*>(data.x), const_cast<void*>(data.weight), const_cast<void*>(data.y)};
  CudnnDescriptor pack(library_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, {kX, kWeight, kY});
  pack.set_addresses(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, addresses);
  pack.set_addresses(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, {&data.workspace, 1});
  pack.finalize();
  MILLRACE_CUDNN_CHECK(library_, library_.execute(handle, plan_->get(), pack.get()));
}

}  // namespace millrace::cuda
