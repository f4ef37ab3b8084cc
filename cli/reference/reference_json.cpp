#include <cmath>

#include "millrace/cli/reference/reference.h"
#include "millrace/cli/text/json_text.h"

namespace millrace::cli {

namespace {

// In the order of OptionForm::Is.
constexpr const char* kForms[] = {"any", "flag", "integer", "number", "text", "name", "list", "map", "options", "kind"};

void append(JsonText& json, const OptionInfo& option, const std::string& name);

void append_options(JsonText& json, const char* key, const std::vector<OptionInfo>& options) {
  json.key(key).open('[');
  for (const OptionInfo& option : options) append(json, option, option.name);
  json.close(']');
}

void append(JsonText& json, const OptionForm& form) {
  json.open('{').key("is").value(kForms[static_cast<size_t>(form.is)]);
  const auto bound = [&](const char* inclusive, const char* exclusive, double value, bool excluded) {
    if (std::isfinite(value)) json.key(excluded ? exclusive : inclusive).value(value);
  };
  bound("min", "more_than", form.range.min, form.range.above_min);
  bound("max", "less_than", form.range.max, form.range.below_max);
  if (!form.pattern.empty()) json.key("pattern").value(form.pattern);
  if (!form.sort.empty()) json.key("sort").value(form.sort);
  if (!form.names.empty()) {
    json.key("names").open('[');
    for (const std::string& name : form.names) json.value(name);
    json.close(']');
  }
  if (!form.items.empty()) {
    json.key("items").open('[');
    for (const OptionForm& item : form.items) append(json, item);
    json.close(']');
  }
  if (!form.options.empty()) append_options(json, "options", form.options);
  json.close('}');
}

void append(JsonText& json, const OptionInfo& option, const std::string& name) {
  json.open('{').key("name").value(name).key("type").value(value_text(option)).key("required").value(option.required);
  json.key("default").value(option.fallback);
  json.key("doc").value(option.doc).key("only_speed").value(option.only_speed);
  json.key("stands_alone").value(option.stands_alone).key("forms").open('[');
  for (const OptionForm& form : option.forms) append(json, form);
  json.close(']').close('}');
}

}  // namespace

std::string kinds_json(std::span<const KindReference> kinds) {
  JsonText json;
  json.open('{').key("v").value(1).key("kinds").open('[');
  for (const KindReference& kind : kinds) {
    json.open('{').key("sort").value(kind.sort).key("kind").value(kind.info.kind).key("doc").value(kind.info.doc);
    if (!kind.ports.empty()) json.key("ports").value(kind.ports);
    append_options(json, "options", kind.info.options);
    append_options(json, "common", kind.common);
    json.key("example").value(placed_example(kind)).close('}');
  }
  return json.close(']').line();
}

std::string keys_json(std::span<const PlacedOption> keys) {
  JsonText json;
  json.open('{').key("v").value(1).key("keys").open('[');
  for (const auto& [path, option] : keys) append(json, *option, path);
  return json.close(']').line();
}

}  // namespace millrace::cli
