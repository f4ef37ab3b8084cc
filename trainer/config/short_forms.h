// Short forms: values that stand for a map of options, such as `save: m.safetensors` for `save: {file: m.safetensors}`.
// The declarations of the keys say what they stand for (OptionReader::stands_alone()). Pure functions.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "millrace/core/options.h"
#include "millrace/core/spec.h"
#include "millrace/trainer/config/catalog.h"

namespace millrace {

// The ways in which a configuration may write the value at `path`, as Spec::path() has it; empty if nobody declares it.
std::vector<OptionForm> forms_at(std::string_view path, const Catalog& catalog);

// The options of a kind. `sort` is how its registry calls such kinds, for example "layer". Absent if there is no such
// kind.
std::optional<std::vector<OptionInfo>> options_of_kind(std::string_view sort, std::string_view kind,
                                                       const Catalog& catalog);

// Whether a value of one of these forms names a kind, or lists kinds.
bool names_kinds(const std::vector<OptionForm>& forms);

// Replaces a value in short form by the map that it stands for; true or false by an empty map. Any other value stays.
void write_out(Spec& node, const std::vector<OptionForm>& forms);

}  // namespace millrace
