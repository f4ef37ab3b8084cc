#include "millrace/core/cuda/nvtx.h"

#include <nvtx3/nvToolsExt.h>

namespace millrace::cuda {

namespace {

// Null where no profiler is there to make it.
nvtxDomainHandle_t domain() noexcept {
  static const nvtxDomainHandle_t made = nvtxDomainCreateA("millrace");
  return made;
}

}  // namespace

bool profiler_attached() noexcept { return domain() != nullptr; }

void push_range(const char* name) noexcept {
  if (!profiler_attached()) return;
  nvtxEventAttributes_t range = {};
  range.version = NVTX_VERSION;
  range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  range.messageType = NVTX_MESSAGE_TYPE_ASCII;
  range.message.ascii = name;
  nvtxDomainRangePushEx(domain(), &range);
}

void pop_range() noexcept {
  if (profiler_attached()) nvtxDomainRangePop(domain());
}

}  // namespace millrace::cuda
