// Catalog: every kind that a configuration may name. It is a value: a program copies it and adds kinds, its own or a
// plug-in's (load_plugin() and MILLRACE_PLUGIN, at the end).
//
//   Catalog catalog = Catalog::builtin();
//   catalog.add_layer<Swish>("swish");
//   Trainer trainer = Trainer::from_file("mlp.yaml", {}, catalog);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/core/context.h"
#include "millrace/core/export.h"
#include "millrace/core/state.h"
#include "millrace/input/op.h"
#include "millrace/input/rows/chunk.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/layer.h"
#include "millrace/version.h"

namespace millrace {

struct MILLRACE_EXPORT Catalog {
  LayerCatalog layers;
  OpRegistry ops{"input op", kOthersAdd};

  // Everything in layers/ and input/.
  static Catalog builtin();

  // Adds a kind under a name that a configuration may use: registry.h says what its class must be like. Throws
  // ConfigError when the name is taken, or is_name() (core/text.h) refuses it.
  template <class L>
  void add_layer(std::string_view name) {
    layers.layers.add<L>(checked(name));
  }
  template <class L>
  void add_loss(std::string_view name) {
    layers.losses.add<L>(checked(name));
  }
  template <class M>
  void add_metric(std::string_view name) {
    layers.metrics.add<M>(checked(name));
  }
  template <class O>
  void add_optimizer(std::string_view name) {
    layers.optimizers.add<O>(checked(name));
  }
  template <class O>
  void add_op(std::string_view name) {
    ops.add<O>(checked(name));
  }
  // An op that uses something of this program: memory_op(), callback_op(), or an entry that the program made.
  void add_op(std::string_view name, OpRegistry::Entry entry) { ops.add(checked(name), std::move(entry)); }

 private:
  static std::string_view checked(std::string_view name);
};

// Plug-ins: shared objects with layers, losses, metrics, optimizers and input ops that were built outside this library.
//
//   // softsign.cpp, built by millrace_add_plugin(softsign softsign.cpp)
//   #include <millrace/plugin.h>
//   ..
//   MILLRACE_PLUGIN(catalog) { catalog.add_layer<SoftsignLayer>("softsign"); }
//
//   // the program
//   Catalog catalog = Catalog::builtin();
//   load_plugin("./softsign.so", catalog);
//
// A plug-in contains no copy of Millrace: it uses the copy of the program that loads it, which is the shared library,
// or is linked into the program with its names exported, as in the command line. A plug-in is made for one build of
// Millrace and says for which one; load_plugin() compares that with its own build before any code of the plug-in runs.

// Adds the kinds of the plug-in in the file `path`, all of them or, after an error, none. The file stays loaded until
// the process ends. Throws MissingError when there is no such file; ConfigError when it is not a plug-in, was built for
// another Millrace, or has a kind that is there already.
MILLRACE_EXPORT void load_plugin(const std::string& path, Catalog& catalog);

namespace plugin_detail {

// The declarations of the virtual functions that kinds implement, as one number. A test computes and compares it.
inline constexpr uint64_t kInterfaces = 0x242661949e4f961e;

// One number that must be the same in a plug-in and in the program that loads it. It is made of kInterfaces and the
// sizes of the types that both share.
inline constexpr uint64_t kLayout = [] {
  uint64_t hash = kInterfaces;
  for (const size_t size :
       {sizeof(Spec), sizeof(OptionInfo), sizeof(Catalog), sizeof(Context), sizeof(PlanArgs), sizeof(ForwardArgs),
        sizeof(BackwardArgs), sizeof(State), sizeof(RowBlock), sizeof(FieldSpec), sizeof(Chunk), sizeof(Note),
        sizeof(Unit), sizeof(BindArgs), sizeof(Port), sizeof(LossArgs), sizeof(MetricArgs), sizeof(UpdateArgs)}) {
    hash = (hash ^ size) * 0x100000001b3;
  }
  return hash;
}();

#if defined(_GLIBCXX_USE_CXX11_ABI)
inline constexpr int kStrings = _GLIBCXX_USE_CXX11_ABI;
#else
inline constexpr int kStrings = -1;
#endif

inline constexpr std::string_view kMark = "millrace plug-in\n";

struct Description {
  // The mark, then the version and "\n", then numbers in hexadecimal, then a zero byte.
  std::array<char, 96> text{};
};

constexpr Description describe() {
  Description out;
  size_t at = 0;
  const auto add = [&](std::string_view part) {
    for (const char letter : part) out.text[at++] = letter;
  };
  const auto add_number = [&](uint64_t number) {
    for (int shift = 60; shift >= 0; shift -= 4) out.text[at++] = "0123456789abcdef"[(number >> shift) & 15];
    add(" ");
  };
  add(kMark);
  add(MILLRACE_VERSION);
  add("\n");
  add_number(kLayout);
  add_number(static_cast<uint64_t>(kStrings));
  return out;
}

}  // namespace plugin_detail
}  // namespace millrace

// A plug-in has this once, before a block that adds its kinds to `catalog`, a Catalog&.
#define MILLRACE_PLUGIN(catalog)                                                                                \
  extern "C" {                                                                                                  \
  extern MILLRACE_EXPORT const millrace::plugin_detail::Description millrace_plugin_description;                \
  const millrace::plugin_detail::Description millrace_plugin_description = millrace::plugin_detail::describe(); \
  MILLRACE_EXPORT void millrace_plugin_add(millrace::Catalog& catalog);                                         \
  }                                                                                                             \
  void millrace_plugin_add(millrace::Catalog& catalog)
