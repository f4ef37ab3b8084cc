#include "millrace/core/kernels/slot_primitive.h"

#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/kernels/onednn_planning.h"
#include "millrace/core/library_call.h"
#include "millrace/core/text.h"

namespace millrace::cpu {

SlotPrimitive::SlotPrimitive(std::string what, const dnnl::engine& engine, dnnl::primitive primitive,
                             std::span<const Arg> args, size_t slots)
    : what_(std::move(what)), primitive_(std::move(primitive)) {
  for (size_t i = 0; i < slots; ++i) {
    Slot slot{{}, {}, {}, dnnl::stream(engine)};
    for (const Arg& arg : args) {
      const dnnl::memory memory(arg.desc, engine, arg.data);
      slot.args.push_back({arg.id, memory.get()});
      (arg.data != nullptr ? slot.fixed : slot.given).push_back(memory);
    }
    slots_.push_back(std::move(slot));
  }
}

void SlotPrimitive::run(size_t slot, std::span<const void* const> data) const {
  const Slot& own = slots_[slot];
  dnnl_status_t status;
  {
    const LibraryCall mark;
    for (size_t i = 0; i < data.size(); ++i) own.given[i].set_data_handle(const_cast<void*>(data[i]));
    status =
        dnnl_primitive_execute(primitive_.get(), own.stream.get(), static_cast<int>(own.args.size()), own.args.data());
  }
  if (status != dnnl_success) {
    throw InternalError(cat("oneDNN failed in ", what_, ": ", status_text(status)));
  }
}

}  // namespace millrace::cpu
