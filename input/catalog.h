// The input ops that a configuration may name. A value: copy it to add ops of your own.
#pragma once

#include "millrace/core/export.h"
#include "millrace/input/buffer.h"
#include "millrace/input/source.h"
#include "millrace/input/transform.h"

namespace millrace {

// Kinds that other code puts into a list of ops to read it in another way than the list says.
inline constexpr std::string_view kBatchKind = "batch";    // gives the rows in order
inline constexpr std::string_view kRepeatKind = "repeat";  // gives them again and again

// Everything in input/ops/, from the table that CMake generates.
MILLRACE_EXPORT OpRegistry builtin_ops();

}  // namespace millrace

// The last line of input/ops/<kind>.cpp: names the class that implements the op.
#define MILLRACE_REGISTER_OP(kind, Class)                                       \
  namespace millrace {                                                          \
  void register_op_##kind(OpRegistry& registry);                                \
  void register_op_##kind(OpRegistry& registry) { registry.add<Class>(#kind); } \
  }                                                                             \
  static_assert(true)
