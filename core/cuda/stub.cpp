// The CUDA seam of a build without CUDA: no devices, and a clear error if one is asked for.
#include "millrace/core/cuda/backend.h"
#include "millrace/core/cuda/kernels.h"
#include "millrace/core/errors.h"

namespace millrace::cuda {

namespace {
constexpr char kReason[] = "this build has no CUDA support";

[[noreturn]] void refuse() { throw DeviceError(kReason, {}, "configure with -DMILLRACE_CUDA=ON and a CUDA toolkit"); }
}  // namespace

class State {};
class Event {};
class Recording {};

const char* toolkit_version() { return ""; }
CudaStatus status() { return {.usable = {}, .reason = kReason}; }
std::string unusable(Device) { return kReason; }
std::string missing_library(const CudaNeeds&) { return kReason; }
std::string name_of(Device) { refuse(); }
std::vector<std::string> library_versions(const CudaNeeds&) { refuse(); }
void* allocate(Device, size_t) { refuse(); }
void free(Device, void*) noexcept {}
void* allocate_pinned(Device, size_t) { refuse(); }
void free_pinned(Device, void*) noexcept {}
void StateDeleter::operator()(State* state) const noexcept { delete state; }
StatePointer make_state(Device) { refuse(); }
void copy(State&, void*, const void*, size_t) { refuse(); }
void copy_async(State&, void*, const void*, size_t) { refuse(); }
void fill_zero(State&, void*, size_t) { refuse(); }
void synchronize(State&) { refuse(); }
void EventDeleter::operator()(Event* event) const noexcept { delete event; }
EventPointer make_event(Device) { refuse(); }
void record(Event&, State&) { refuse(); }
void wait(State&, const Event&) { refuse(); }
bool finished(const Event&) { refuse(); }
void synchronize(const Event&) { refuse(); }
void RecordingDeleter::operator()(Recording* recording) const noexcept { delete recording; }
void begin_recording(State&) { refuse(); }
RecordingPointer end_recording(State&) { refuse(); }
void abandon_recording(State&) noexcept {}
void launch(State&, const Recording&) { refuse(); }
RecordingPointer chain(State&, std::span<const Recording* const>) { refuse(); }

bool profiler_attached() noexcept { return false; }
void push_range(const char*) noexcept {}
void pop_range() noexcept {}

std::unique_ptr<Gemm> make_gemm(Context&, const GemmSpec&) { refuse(); }
void column_sum(Context&, ConstTensorView, const Destination&, void*) { refuse(); }
void sum(Context&, ConstTensorView, void*, double, void*) { refuse(); }
void square_sum(Context&, ConstTensorView, double*, void*) { refuse(); }
std::unique_ptr<Convolution> make_convolution(Context&, const ConvolutionSpec&, const ConvolutionOptions&) { refuse(); }
void channel_sum(Context&, const ChannelSpec&, const void*, const Destination&, void*) { refuse(); }
size_t channel_sum_scratch(const ChannelSpec&) { refuse(); }
void max_pool(Context&, const PoolingSpec&, const ConstTensorView&, const TensorView&, int32_t*) { refuse(); }
void average_pool(Context&, const PoolingSpec&, const ConstTensorView&, const TensorView&) { refuse(); }
void pool_gradient(Context&, const PoolingSpec&, const int32_t*, const ConstTensorView&, const Destination&) {
  refuse();
}
size_t batch_norm_scratch(const BatchNormSpec&) { refuse(); }
void batch_moments(Context&, const BatchNormSpec&, ConstNormRows, void*, void*, void*) { refuse(); }
void batch_norm(Context&, const BatchNormSpec&, ConstNormRows, const NormParams&, NormRows) { refuse(); }
void batch_norm_gradient(Context&, const BatchNormSpec&, ConstNormRows, ConstNormRows, const NormParams&,
                         const BatchNormGradients&, void*) {
  refuse();
}

}  // namespace millrace::cuda
