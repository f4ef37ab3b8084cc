// A stand-in for cuDNN, opened like the real one: convolutions as plain loops on the emulated GPU. The first engine
// that it proposes adds up in any order and the second one rounds its operands; nobody should take them.
#include <cudnn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "tests/emulated_gpu/emulated_gpu.h"

namespace {

using millrace::emulation::require_on_device;
using millrace::emulation::violation;

constexpr int64_t kEngines = 4, kRoundingEngine = 2;
constexpr int64_t kWorkspace = 8192;
constexpr int64_t kX = 1, kWeight = 2, kY = 3;  // as the product names its tensors

size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR: return 8;
    case CUDNN_TYPE_CHAR:
    case CUDNN_TYPE_BOOLEAN: return 1;
    default: return 4;
  }
}

struct Descriptor {
  explicit Descriptor(cudnnBackendDescriptorType_t kind) : type(kind) {}

  cudnnBackendDescriptorType_t type;
  bool final = false;
  std::map<int, std::vector<std::byte>> attributes;
  int64_t engine = 0;                 // of an engine and its configuration
  const Descriptor* graph = nullptr;  // likewise

  template <class T>
  std::vector<T> list(int name) const {
    const auto found = attributes.find(name);
    if (found == attributes.end()) violation("cuDNN: an attribute that is read was never set");
    std::vector<T> out(found->second.size() / sizeof(T));
    std::memcpy(out.data(), found->second.data(), found->second.size());
    return out;
  }
  template <class T>
  T value(int name) const {
    return list<T>(name).at(0);
  }
  const Descriptor& part(int name) const { return *static_cast<Descriptor*>(value<void*>(name)); }
};

struct Tensor {
  explicit Tensor(const Descriptor& from)
      : sizes(from.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS)),
        strides(from.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES)),
        wide(from.value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE) == CUDNN_DATA_DOUBLE) {}

  std::vector<int64_t> sizes, strides;
  bool wide;

  int64_t at(int64_t a, int64_t b, int64_t c, int64_t d) const {
    return a * strides[0] + b * strides[1] + c * strides[2] + d * strides[3];
  }
  size_t bytes() const {
    int64_t last = 0;
    for (size_t i = 0; i < 4; ++i) last += (sizes[i] - 1) * strides[i];
    return static_cast<size_t>(last + 1) * (wide ? 8 : 4);
  }
};

enum class Pass : uint8_t { forward, input_gradient, weight_gradient };

struct Names {
  cudnnBackendDescriptorType_t type;
  Pass pass;
  int convolution, x, weight, y;
};
constexpr Names kNames[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, Pass::forward,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, Pass::input_gradient,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, Pass::weight_gradient,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
};

struct Operation {
  explicit Operation(const Descriptor& from) : Operation(from, names_of(from)) {}

  Pass pass;
  Tensor x, weight, y;
  std::vector<int64_t> padding, dilation, stride;

  template <class T>
  void run(void* x_data, void* weight_data, void* y_data) const {
    auto *const xs = static_cast<T*>(x_data), *const ws = static_cast<T*>(weight_data),
                *const ys = static_cast<T*>(y_data);
    const Tensor& written = pass == Pass::forward ? y : pass == Pass::input_gradient ? x : weight;
    T* const out = pass == Pass::forward ? ys : pass == Pass::input_gradient ? xs : ws;
    std::vector<double> sums(written.bytes() / sizeof(T));
    for_each_product([&](int64_t xi, int64_t wi, int64_t yi) {
      const int64_t to = pass == Pass::forward ? yi : pass == Pass::input_gradient ? xi : wi;
      const T a = pass == Pass::input_gradient ? ys[yi] : xs[xi], b = pass == Pass::weight_gradient ? ys[yi] : ws[wi];
      sums[static_cast<size_t>(to)] += static_cast<double>(a) * static_cast<double>(b);
    });
    for (size_t i = 0; i < sums.size(); ++i) out[i] = static_cast<T>(sums[i]);
  }

 private:
  Operation(const Descriptor& from, const Names& names)
      : pass(names.pass), x(from.part(names.x)), weight(from.part(names.weight)), y(from.part(names.y)) {
    const Descriptor& convolution = from.part(names.convolution);
    padding = convolution.list<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
    dilation = convolution.list<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS);
    stride = convolution.list<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  }

  static const Names& names_of(const Descriptor& from) {
    for (const Names& names : kNames) {
      if (names.type == from.type) return names;
    }
    violation("cuDNN: an operation that the emulation does not know");
  }

  // f(places in x, weight and y) of every product of the forward pass.
  template <class F>
  void for_each_product(const F& f) const {
    const int64_t inner = weight.sizes[1], groups = x.sizes[1] / inner, outer = y.sizes[1] / groups;
    for (int64_t n = 0; n < y.sizes[0]; ++n) {
      for (int64_t k = 0; k < y.sizes[1]; ++k) {
        for (int64_t c = 0; c < inner; ++c) {
          for_each_pixel([&](int64_t ih, int64_t iw, int64_t kh, int64_t kw, int64_t oh, int64_t ow) {
            f(x.at(n, k / outer * inner + c, ih, iw), weight.at(k, c, kh, kw), y.at(n, k, oh, ow));
          });
        }
      }
    }
  }
  template <class F>
  void for_each_pixel(const F& f) const {
    for (int64_t oh = 0; oh < y.sizes[2]; ++oh) {
      for (int64_t kh = 0; kh < weight.sizes[2]; ++kh) {
        const int64_t ih = oh * stride[0] + kh * dilation[0] - padding[0];
        if (ih < 0 || ih >= x.sizes[2]) continue;
        for (int64_t ow = 0; ow < y.sizes[3]; ++ow) {
          for (int64_t kw = 0; kw < weight.sizes[3]; ++kw) {
            const int64_t iw = ow * stride[1] + kw * dilation[1] - padding[1];
            if (iw >= 0 && iw < x.sizes[3]) f(ih, iw, kh, kw, oh, ow);
          }
        }
      }
    }
  }
};

struct Handle {
  cudaStream_t stream = nullptr;
};

Descriptor& descriptor_of(cudnnBackendDescriptor_t descriptor) { return *static_cast<Descriptor*>(descriptor); }

template <class T>
int64_t give(std::span<const T> values, int64_t room, void* out) {
  const int64_t count = out != nullptr ? std::min(room, std::ssize(values)) : 0;
  if (count > 0) std::memcpy(out, values.data(), static_cast<size_t>(count) * sizeof(T));
  return std::ssize(values);
}

int64_t give_engines(const Descriptor& search, int64_t room, void* out) {
  auto* const configurations = static_cast<void**>(out);
  for (int64_t i = 0; out != nullptr && i < std::min(room, kEngines); ++i) {
    Descriptor& configuration = descriptor_of(configurations[i]);
    configuration.engine = i;
    configuration.graph = &search.part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    configuration.final = true;
  }
  return kEngines;
}

int64_t read(const Descriptor& from, cudnnBackendAttributeName_t name, int64_t room, void* out) {
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS: return give_engines(from, room, out);
    case CUDNN_ATTR_ENGINECFG_ENGINE: {
      Descriptor& engine = descriptor_of(*static_cast<void**>(out));
      engine.engine = from.engine;
      return 1;
    }
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX: return give<int64_t>({&from.engine, 1}, room, out);
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE: {
      std::vector<cudnnBackendNumericalNote_t> notes;
      if (from.engine == 0) notes = {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC};
      if (from.engine == 1) notes = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS};
      if (from.engine == kRoundingEngine) notes = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE};
      return give<cudnnBackendNumericalNote_t>(notes, room, out);
    }
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE: return 0;
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE: return give<int64_t>({&kWorkspace, 1}, room, out);
    default: violation("cuDNN: an attribute is read that the emulation does not know");
  }
}

cudnnStatus_t execute(const Handle& handle, const Descriptor& plan, const Descriptor& pack) {
  const Descriptor& configuration = plan.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  if (configuration.engine < kRoundingEngine) violation("cuDNN: an engine is taken that gives other sums every time");
  const auto operation = std::make_shared<const Operation>(configuration.graph->part(CUDNN_ATTR_OPERATIONGRAPH_OPS));

  const auto names = pack.list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack.list<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  std::array<void*, 4> data{};
  for (size_t i = 0; i < names.size(); ++i) data[static_cast<size_t>(names[i])] = pointers[i];
  require_on_device(data[kX], operation->x.bytes(), "a convolution's images");
  require_on_device(data[kWeight], operation->weight.bytes(), "a convolution's weight");
  require_on_device(data[kY], operation->y.bytes(), "a convolution's result");
  void* const workspace = pack.value<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  require_on_device(workspace, kWorkspace, "a convolution's workspace");

  millrace::emulation::count_library_call();
  millrace::emulation::enqueue(handle.stream, [operation, data, workspace] {
    std::memset(workspace, 0xff, kWorkspace);
    if (operation->x.wide) {
      operation->run<double>(data[kX], data[kWeight], data[kY]);
    } else {
      operation->run<float>(data[kX], data[kWeight], data[kY]);
    }
  });
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

#define MILLRACE_SHOWN __attribute__((visibility("default")))

MILLRACE_SHOWN cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(new Handle);
  return CUDNN_STATUS_SUCCESS;
}
MILLRACE_SHOWN cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete reinterpret_cast<Handle*>(handle);
  return CUDNN_STATUS_SUCCESS;
}
MILLRACE_SHOWN cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  reinterpret_cast<Handle*>(handle)->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
MILLRACE_SHOWN size_t cudnnGetVersion() { return CUDNN_VERSION; }
MILLRACE_SHOWN const char* cudnnGetErrorString(cudnnStatus_t) { return "a status of the emulated library"; }
MILLRACE_SHOWN void cudnnGetLastErrorString(char* text, size_t room) {
  if (room > 0) text[0] = '\0';
}

MILLRACE_SHOWN cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                                          cudnnBackendDescriptor_t* out) {
  *out = new Descriptor(type);
  return CUDNN_STATUS_SUCCESS;
}
MILLRACE_SHOWN cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete static_cast<Descriptor*>(descriptor);
  return CUDNN_STATUS_SUCCESS;
}
MILLRACE_SHOWN cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t handle, cudnnBackendAttributeName_t name,
                                                      cudnnBackendAttributeType_t type, int64_t count,
                                                      const void* values) {
  Descriptor& descriptor = descriptor_of(handle);
  if (descriptor.final) return CUDNN_STATUS_BAD_PARAM;
  const auto* const begin = static_cast<const std::byte*>(values);
  descriptor.attributes[name].assign(begin, begin + static_cast<size_t>(count) * size_of(type));
  return CUDNN_STATUS_SUCCESS;
}
MILLRACE_SHOWN cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t handle, cudnnBackendAttributeName_t name,
                                                      cudnnBackendAttributeType_t, int64_t room, int64_t* count,
                                                      void* out) {
  *count = read(descriptor_of(handle), name, room, out);
  return CUDNN_STATUS_SUCCESS;
}
MILLRACE_SHOWN cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t handle) {
  Descriptor& descriptor = descriptor_of(handle);
  if (descriptor.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    if (const int status = millrace::emulation::take_plan_failure()) return static_cast<cudnnStatus_t>(status);
  }
  descriptor.final = true;
  return CUDNN_STATUS_SUCCESS;
}
MILLRACE_SHOWN cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                                 cudnnBackendDescriptor_t pack) {
  return execute(*reinterpret_cast<Handle*>(handle), descriptor_of(plan), descriptor_of(pack));
}

}  // extern "C"
