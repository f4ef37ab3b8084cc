// Overrides: `path=value` settings on top of a configuration, as the command line's --set gives them.
//
//   train.steps=5                        a key; it need not be there yet
//   input.shuffle_batch.batch_size=64    an item of a list by its kind or name, if only one item has it
//   input[3].batch_size=64               an item by position; the op's own name is left out
//
//   save.optimizer=true                  a key of a map; a short form is written out, here as
//                                        save: {file: FILE, optimizer: true}
//
// Values are YAML; null takes a key away, as if it had not been written. Later overrides win. A value from an override
// has the place `--set path=value`.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/spec.h"
#include "millrace/trainer/config/catalog.h"

namespace millrace {

// Throws ConfigError with the override as its place; nearest names are in the hint. Sets unknown keys, too:
// read_config() rejects them later, at that place. `catalog` has the kinds that the configuration may name.
void apply_override(Spec& config, std::string_view setting, const Catalog& catalog = Catalog::builtin());
void apply_overrides(Spec& config, std::span<const std::string> settings, const Catalog& catalog = Catalog::builtin());

// The part of a configuration that a command uses.
struct Heeded {
  // Returns the part that is heeded, in any form that can be compared. It may throw an Error, because the configuration
  // may be wrong before all settings are applied. A setting that makes it wrong, or mends it, counts as heeded. Empty:
  // everything is heeded, and nothing is compared.
  std::function<Spec(const Spec& config)> of = {};
  std::string_view hint = {};  // what to do instead of a setting that is not heeded
};
// The same, but throws ConfigError for a setting that changes the configuration, but not the part that is heeded.
void apply_overrides(Spec& config, std::span<const std::string> settings, const Catalog& catalog, const Heeded& heeded);

// A map with the values that `config` has for these keys.
Spec only_keys(const Spec& config, const std::vector<std::string_view>& keys);

// The names of the items of a list of kinds, in order: `name` if it is given, else the kind, with _2, _3, ... if an
// earlier item (or a given name) has it already. An item that does not name a kind has an empty name.
std::vector<std::string> item_names(const Spec& list);

}  // namespace millrace
