// A built-in kind under another name and with other keys, as a program or a plug-in might add it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/registry.h"

namespace millrace::test {

// `keys`: from keys of the kind to the keys that replace them.
template <class Base>
typename Registry<Base>::Entry renamed(const Registry<Base>& registry, const std::string& kind,
                                       std::map<std::string, std::string> keys) {
  typename Registry<Base>::Entry entry = registry.find(kind, Spec());
  std::map<std::string, std::string> back;
  for (const auto& [key, other] : keys) back[other] = key;
  const auto rename = [](const Spec& options, const std::map<std::string, std::string>& names) {
    Spec out = Spec::map(options.place());
    out.set_path(options.path());
    for (const auto& [key, value] : options.entries()) {
      const auto found = names.find(key);
      out.set(found == names.end() ? key : found->second, value);
    }
    return out;
  };
  entry.describe = [describe = entry.describe, keys] {
    std::vector<OptionInfo> infos = describe();
    for (OptionInfo& info : infos) {
      if (const auto found = keys.find(info.name); found != keys.end()) info.name = found->second;
    }
    return infos;
  };
  entry.make = [make = entry.make, keys, back, rename](const Spec& options, Spec* resolved) {
    Spec all;
    std::unique_ptr<Base> made = make(rename(options, back), &all);
    if (resolved != nullptr) *resolved = rename(all, keys);
    return made;
  };
  return entry;
}

}  // namespace millrace::test
