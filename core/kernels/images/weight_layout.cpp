#include "millrace/core/kernels/images/weight_layout.h"

#include "millrace/core/kernels/onednn_planning.h"

namespace millrace::cpu {

WeightLayout::WeightLayout(const dnnl::engine& engine, const dnnl::memory::desc& plain, const dnnl::memory::desc& inner,
                           Way way)
    : inner_(Device::cpu(), inner.get_size()) {
  const bool inwards = way == Way::inwards;
  const dnnl::memory::desc &from = inwards ? plain : inner, &to = inwards ? inner : plain;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  require_code_memory();  // inner_ may have taken much memory
  const dnnl::reorder::primitive_desc description(engine, from, engine, to, attributes);
  scratch_ = Memory(Device::cpu(), description.scratchpad_desc().get_size());
  const SlotPrimitive::Arg args[] = {{DNNL_ARG_FROM, from, inwards ? nullptr : inner_.data()},
                                     {DNNL_ARG_TO, to, inwards ? inner_.data() : nullptr},
                                     {DNNL_ARG_SCRATCHPAD, description.scratchpad_desc(), scratch_.data()}};
  primitive_.emplace("the layout of a weight", engine, make_primitive<dnnl::reorder>(description), args, 1);
}

}  // namespace millrace::cpu
