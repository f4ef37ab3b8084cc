// SlotPrimitive: a primitive of oneDNN that several tasks run at once, each in a slot (slot_pool.h) with handles of its
// own, so that a call allocates nothing. REQUIRES: a slot is used by one task at a time.
#pragma once

#include <cstddef>
#include <dnnl.hpp>
#include <span>
#include <string>
#include <vector>

namespace millrace::cpu {

class SlotPrimitive {
 public:
  struct Arg {
    int id = 0;
    dnnl::memory::desc desc;
    void* data = nullptr;  // the same in every call; null: each call gives the data
  };

  // `what` says in messages what it computes.
  SlotPrimitive(std::string what, const dnnl::engine& engine, dnnl::primitive primitive, std::span<const Arg> args,
                size_t slots);

  // Runs with `data` for the arguments without fixed data, in their order. Throws InternalError.
  void run(size_t slot, std::span<const void* const> data) const;

 private:
  struct Slot {
    std::vector<dnnl::memory> given, fixed;
    std::vector<dnnl_exec_arg_t> args;
    dnnl::stream stream;
  };

  std::string what_;
  dnnl::primitive primitive_;
  std::vector<Slot> slots_;
};

}  // namespace millrace::cpu
