#include <algorithm>
#include <cmath>
#include <cstdint>

#include "millrace/cli/reference/reference.h"
#include "millrace/cli/text/json_text.h"
#include "millrace/trainer/config/config.h"

namespace millrace::cli {

namespace {

using Is = OptionForm::Is;

bool has_required(const std::vector<OptionInfo>& options) {
  return std::ranges::any_of(options, &OptionInfo::required);
}

std::string definition(const std::string& sort) {
  std::string out = sort;
  std::replace(out.begin(), out.end(), ' ', '_');
  return out;
}

void add_any_of(JsonText& json, std::span<const OptionForm> forms);

// The schema of a value that has one of these forms.
void add_schema(JsonText& json, std::span<const OptionForm> forms) {
  json.open('{');
  add_any_of(json, forms);
  json.close('}');
}

// Members of the schema of a map with these keys. `also` may have keys that `options` has.
void add_options(JsonText& json, const std::vector<OptionInfo>& options, const std::vector<OptionInfo>& also = {});

void add_property(JsonText& json, const OptionInfo& option) {
  json.key(option.name).open('{').key("description").value(option.doc);
  if (!option.fallback.is_null()) json.key("default").value(option.fallback);
  add_any_of(json, option.forms);
  json.close('}');
}

void add_bounds(JsonText& json, const OptionForm& form) {
  const auto bound = [&](const char* name, double value) {
    constexpr double kMostExact = 9e15;
    if (!std::isfinite(value)) return;
    json.key(name);
    const bool whole = std::abs(value) < kMostExact && value == std::trunc(value);
    whole ? json.value(static_cast<int64_t>(value)) : json.value(value);
  };
  bound(form.range.above_min ? "exclusiveMinimum" : "minimum", form.range.min);
  bound(form.range.below_max ? "exclusiveMaximum" : "maximum", form.range.max);
}

void add_form(JsonText& json, const OptionForm& form) {
  switch (form.is) {
    case Is::any: return;
    case Is::flag: json.key("type").value("boolean"); return;
    case Is::integer:
    case Is::number:
      json.key("type").value(form.is == Is::integer ? "integer" : "number");
      add_bounds(json, form);
      return;
    case Is::text:
      if (form.pattern.empty()) {
        // An option that wants a text takes numbers and booleans as texts, too.
        json.key("type").open('[').value("string").value("number").value("boolean").close(']');
      } else {
        json.key("type").value("string").key("pattern").value(form.pattern);
      }
      return;
    case Is::name: json.key("enum").value(form.names); return;
    case Is::list:
      json.key("type").value("array");
      if (form.not_empty) json.key("minItems").value(1);
      return add_schema(json.key("items"), form.items);
    case Is::map: return add_schema(json.key("type").value("object").key("additionalProperties"), form.items);
    case Is::options: add_options(json, form.options); return;
    case Is::kind: json.key("$ref").value("#/$defs/" + definition(form.sort)); return;
  }
}

void add_any_of(JsonText& json, std::span<const OptionForm> forms) {
  if (forms.size() == 1) return add_form(json, forms.front());
  json.key("anyOf").open('[');
  for (const OptionForm& one : forms) add_schema(json, {&one, 1});
  json.close(']');
}

void add_options(JsonText& json, const std::vector<OptionInfo>& options, const std::vector<OptionInfo>& also) {
  json.key("type").value("object").key("properties").open('{');
  for (const OptionInfo& option : options) add_property(json, option);
  for (const OptionInfo& option : also) {
    if (std::ranges::find(options, option.name, &OptionInfo::name) == options.end()) add_property(json, option);
  }
  json.close('}');
  std::vector<std::string> required;
  for (const OptionInfo& option : options) {
    if (option.required) required.push_back(option.name);
  }
  if (!required.empty()) json.key("required").value(required);
  json.key("additionalProperties").value(false);
}

// Members of the schema for the value of a kind: `dense: VALUE`.
void add_options_of_kind(JsonText& json, const std::vector<OptionInfo>& own, const std::vector<OptionInfo>& common) {
  const auto alone = std::ranges::find_if(own, &OptionInfo::stands_alone);
  if (has_required(own) && alone == own.end()) return add_options(json, own, common);
  json.key("anyOf").open('[');
  // `relu:` without a value is `relu`.
  if (!has_required(own)) json.open('{').key("type").value("null").close('}');
  json.open('{');
  add_options(json, own, common);
  json.close('}');
  if (alone != own.end()) add_schema(json, alone->forms);
  json.close(']');
}

void add_kinds(JsonText& json, std::span<const KindReference> kinds) {
  json.key("anyOf").open('[');
  for (const KindReference& kind : kinds) {
    if (has_required(kind.info.options)) continue;
    json.open('{').key("const").value(kind.info.kind).key("description").value(kind.info.doc).close('}');
  }
  json.open('{').key("type").value("object").key("properties").open('{');
  for (const KindReference& kind : kinds) {
    json.key(kind.info.kind).open('{').key("description").value(kind.info.doc);
    add_options_of_kind(json, kind.info.options, kind.common);
    json.close('}');
  }
  json.close('}').key("minProperties").value(1).key("maxProperties").value(1);
  json.key("additionalProperties").value(false).close('}').close(']');
}

void add_definitions(JsonText& json, const std::vector<KindReference>& references) {
  for (const auto& sort : by_sort(references)) {
    json.key(definition(sort.front().sort)).open('{');
    add_kinds(json, sort);
    json.close('}');
  }
}

// A configuration may have an input graph only. But with one of the keys that a training requires it needs them all.
void add_needs_of_training(JsonText& json) {
  std::vector<std::string> needed;
  const std::vector<OptionInfo> always = describe_config(ConfigUse::input);
  const std::vector<OptionInfo> training = describe_config(ConfigUse::training);
  for (size_t i = 0; i < training.size(); ++i) {
    if (training[i].required && !always[i].required) needed.push_back(training[i].name);
  }
  json.key("dependentRequired").open('{');
  for (const std::string& key : needed) {
    std::vector<std::string> others = needed;
    std::erase(others, key);
    json.key(key).value(others);
  }
  json.close('}');
}

}  // namespace

std::string config_schema(const Catalog& catalog) {
  JsonText json;
  json.open('{').key("$schema").value("https://json-schema.org/draft/2020-12/schema");
  json.key("title").value("A configuration of Millrace");
  add_options(json, describe_config(ConfigUse::input));
  add_needs_of_training(json);
  json.key("$defs").open('{');
  add_definitions(json, describe_ops(catalog));
  add_definitions(json, describe_layers(catalog));
  return json.close('}').line();
}

}  // namespace millrace::cli
