#include "millrace/trainer/config/short_forms.h"

#include <algorithm>
#include <string>
#include <utility>

#include "millrace/layers/schedule/schedule.h"
#include "millrace/trainer/config/config.h"

namespace millrace {

namespace {

using Is = OptionForm::Is;
using Forms = std::vector<OptionForm>;

// The forms of a value inside a value of `forms`: under the key `name`, or at a position.
Forms below(const Forms& forms, std::string_view name, bool position, const Catalog& catalog) {
  Forms out;
  const auto add = [&out](const Forms& more) { out.insert(out.end(), more.begin(), more.end()); };
  for (const OptionForm& form : forms) {
    if (position ? form.is == Is::list : form.is == Is::map) add(form.items);
    if (position) continue;
    if (form.is == Is::kind) {
      auto options = options_of_kind(form.sort, name, catalog);
      if (options) out.push_back({.is = Is::options, .options = std::move(*options)});
    }
    for (const OptionInfo& option : form.options) {
      if (option.name == name) add(option.forms);
    }
  }
  return out;
}

}  // namespace

std::optional<std::vector<OptionInfo>> options_of_kind(std::string_view sort, std::string_view kind,
                                                       const Catalog& catalog) {
  std::optional<std::vector<OptionInfo>> out;
  const auto look = [&](const auto& registry) {
    const auto found = registry.entries().find(kind);
    if (registry.what() == sort && found != registry.entries().end()) out = found->second.describe();
  };
  const LayerCatalog& layers = catalog.layers;
  look(catalog.ops);
  look(layers.layers);
  look(layers.losses);
  look(layers.metrics);
  look(layers.optimizers);
  look(schedules());
  return out;
}

std::vector<OptionForm> forms_at(std::string_view path, const Catalog& catalog) {
  Forms forms = {{.is = Is::options, .options = describe_config()}};
  while (!path.empty() && !forms.empty()) {
    const bool position = path.starts_with('[');
    if (path.starts_with('.')) path.remove_prefix(1);
    const size_t end = position ? path.find(']') + 1 : std::min(path.find_first_of(".["), path.size());
    if (end == 0) return {};
    forms = below(forms, path.substr(0, end), position, catalog);
    path.remove_prefix(end);
  }
  return forms;
}

bool names_kinds(const std::vector<OptionForm>& forms) {
  return std::ranges::any_of(forms, [](const OptionForm& form) {
    return form.is == Is::kind || (form.is == Is::list && names_kinds(form.items));
  });
}

void write_out(Spec& node, const std::vector<OptionForm>& forms) {
  const auto whole = std::ranges::find(forms, Is::options, &OptionForm::is);
  if (node.is_map() || whole == forms.end()) return;
  Spec out = Spec::map(node.place());
  const bool is_flag = node.is_scalar() && (node.as_string() == "true" || node.as_string() == "false");
  if (!is_flag || std::ranges::find(forms, Is::flag, &OptionForm::is) == forms.end()) {
    const auto alone = std::ranges::find_if(whole->options, &OptionInfo::stands_alone);
    if (alone == whole->options.end()) return;
    out.set(alone->name, node);
  }
  out.set_path(node.path());
  out.set_key_place(node.key_place());
  node = std::move(out);
}

}  // namespace millrace
