// Overrides: `path=value` settings on top of a configuration, as the command line's --set gives them.
//
//   train.steps=5                        a key; it need not be there yet
//   input.shuffle_batch.batch_size=64    an item of a list by its kind or name, if only one item has it
//   input[3].batch_size=64               an item by position; the op's own name is left out
//
// Values are YAML; null takes a key away, as if it had not been written. Later overrides win. What an override writes
// has the place `--set path=value`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/spec.h"

namespace millrace {

// Throws ConfigError with the override as its place; nearest names are in the hint. An unknown key is set all the same:
// read_config() then rejects it at that place.
void apply_override(Spec& config, std::string_view setting);
void apply_overrides(Spec& config, std::span<const std::string> settings);

// A warning for each setting whose top-level key is not in `keys_read`, which therefore changes nothing.
std::vector<std::string> warnings_of_unread(std::span<const std::string> settings,
                                            std::span<const std::string_view> keys_read);

// The names of the items of a list of kinds, in order: `name` if it is given, else the kind, with _2, _3, ... if an
// earlier item (or a given name) has it already. An item that does not name a kind has an empty name.
std::vector<std::string> item_names(const Spec& list);

}  // namespace millrace
