#include <cmath>

#include "millrace/cli/reference/reference.h"
#include "millrace/cli/text/json_text.h"

namespace millrace::cli {

namespace {

// The names of OptionForm::Is, in its order.
constexpr const char* kForms[] = {"any", "flag", "integer", "number", "text", "name", "list", "map", "options", "kind"};

void append(JsonText& json, const OptionForm& form);
// Writes `path` as the name, unless it is empty.
void append(JsonText& json, const OptionInfo& option, std::string_view path = {});

template <class T>
void append_list(JsonText& json, const char* key, const std::vector<T>& list) {
  json.key(key).open('[');
  for (const T& item : list) append(json, item);
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
  if (!form.names.empty()) json.key("names").value(form.names);
  if (!form.items.empty()) append_list(json, "items", form.items);
  if (!form.options.empty()) append_list(json, "options", form.options);
  json.close('}');
}

void append(JsonText& json, const OptionInfo& option, std::string_view path) {
  json.open('{').key("name").value(path.empty() ? option.name : path).key("type").value(value_text(option));
  json.key("required").value(option.required).key("default").value(option.fallback);
  json.key("doc").value(option.doc).key("only_speed").value(option.only_speed);
  json.key("stands_alone").value(option.stands_alone);
  append_list(json, "forms", option.forms);
  json.close('}');
}

}  // namespace

std::string kinds_json(std::span<const KindReference> kinds) {
  JsonText json;
  json.open('{').key("v").value(1).key("kinds").open('[');
  for (const KindReference& kind : kinds) {
    json.open('{').key("sort").value(kind.sort).key("kind").value(kind.info.kind).key("doc").value(kind.info.doc);
    if (!kind.ports.empty()) json.key("ports").value(kind.ports);
    append_list(json, "options", kind.info.options);
    append_list(json, "common", kind.common);
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
