// Registry: the kinds of one sort (layers, losses, input ops, ...) that a configuration may name.
//
// A value: a program copies it and adds kinds of its own. Constant after that; then any thread may read it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/options.h"
#include "millrace/core/text.h"

namespace millrace {

// `Base` is the interface that the kinds implement. A kind is a class with a nested `Options` struct (options.h), a
// constructor from it, and `static constexpr std::string_view kDoc`, one sentence for the reference.
template <class Base>
class Registry {
 public:
  struct Entry {
    std::string_view doc;
    std::vector<OptionInfo> (*describe)();
    std::unique_ptr<Base> (*make)(const Spec& options, Spec* resolved);
  };

  // `what` names the sort in messages: "layer", "input op".
  explicit Registry(std::string_view what) : what_(what) {}

  template <class Kind>
  void add(std::string_view kind) {
    const Entry entry = {
        Kind::kDoc,
        [] { return describe_options<typename Kind::Options>(); },
        [](const Spec& options, Spec* resolved) -> std::unique_ptr<Base> {
          return std::make_unique<Kind>(read_options<typename Kind::Options>(options, resolved));
        },
    };
    if (!entries_.emplace(kind, entry).second) throw ConfigError(cat("the ", what_, ' ', kind, " is registered twice"));
  }

  // The object that `spec` (`kind` or `kind: {options}`) describes. `resolved`, where given, receives all its options.
  // Throws ConfigError; an unknown kind's message names the nearest ones.
  std::unique_ptr<Base> make(const KindAndOptions& wanted, const Spec& spec, Spec* resolved = nullptr) const {
    return find(wanted.kind, spec).make(wanted.options, resolved);
  }

  const Entry& find(std::string_view kind, const Spec& spec) const {
    const auto found = entries_.find(kind);
    if (found != entries_.end()) return found->second;
    const std::string near = nearest(kind, kinds());
    throw spec.error(cat("unknown ", what_, ' ', quote(kind)),
                     near.empty() ? cat("known ", what_, "s: ", join(kinds())) : cat("did you mean ", near, "?"));
  }

  // All kinds, sorted by name.
  std::vector<std::string> kinds() const {
    std::vector<std::string> out;
    for (const auto& [kind, entry] : entries_) out.push_back(kind);
    return out;
  }
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }

 private:
  std::string_view what_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace millrace
