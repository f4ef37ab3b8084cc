#include "millrace/cli/reference/schema.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "millrace/cli/reference/reference.h"
#include "millrace/cli/text/json_text.h"
#include "millrace/cli/text/spec_json.h"
#include "millrace/core/text.h"
#include "millrace/trainer/config/config.h"

namespace millrace::cli {

namespace {

using Is = OptionForm::Is;

bool has_required(const std::vector<OptionInfo>& options) {
  return std::any_of(options.begin(), options.end(), [](const OptionInfo& option) { return option.required; });
}

std::string definition(const std::string& sort) {
  std::string out = sort;
  std::replace(out.begin(), out.end(), ' ', '_');
  return out;
}

class SchemaWriter {
 public:
  std::string write(const Catalog& catalog);

 private:
  // Members of the schema of a map with these keys. `also` may have keys that `options` has.
  void options(const std::vector<OptionInfo>& options, const std::vector<OptionInfo>& also = {});
  void property(const OptionInfo& option);
  void form(const OptionForm& form);
  void any_of(const std::vector<OptionForm>& forms);
  void kinds(const std::vector<KindInfo>& kinds, const std::vector<OptionInfo>& common);
  // Members of the schema of what stands behind the name of a kind.
  void options_of_kind(const std::vector<OptionInfo>& own, const std::vector<OptionInfo>& common);
  void bounds(const OptionForm& form);
  void definitions(const std::vector<KindReference>& kinds);
  void needs_of_training();

  JsonText json_;
};

std::string SchemaWriter::write(const Catalog& catalog) {
  json_.open('{').key("$schema").value("https://json-schema.org/draft/2020-12/schema");
  json_.key("title").value("A configuration of Millrace");
  options(describe_config(ConfigUse::input));
  needs_of_training();
  json_.key("$defs").open('{');
  definitions(describe_ops(catalog));
  definitions(describe_layers(catalog));
  json_.close('}').close('}');
  return json_.text() + '\n';
}

// The input graph runs alone; but whoever begins with a model needs all that belongs to it.
void SchemaWriter::needs_of_training() {
  std::vector<std::string> needed;
  const std::vector<OptionInfo> always = describe_config(ConfigUse::input);
  const std::vector<OptionInfo> training = describe_config(ConfigUse::training);
  for (size_t i = 0; i < training.size(); ++i) {
    if (training[i].required && !always[i].required) needed.push_back(training[i].name);
  }
  json_.key("dependentRequired").open('{');
  for (const std::string& key : needed) {
    json_.key(key).open('[');
    for (const std::string& other : needed) {
      if (other != key) json_.value(other);
    }
    json_.close(']');
  }
  json_.close('}');
}

void SchemaWriter::definitions(const std::vector<KindReference>& references) {
  for (size_t begin = 0; begin < references.size();) {
    std::vector<KindInfo> of_sort;
    size_t end = begin;
    for (; end < references.size() && references[end].sort == references[begin].sort; ++end) {
      of_sort.push_back(references[end].info);
    }
    json_.key(definition(references[begin].sort)).open('{');
    kinds(of_sort, references[begin].common);
    json_.close('}');
    begin = end;
  }
}

void SchemaWriter::options(const std::vector<OptionInfo>& options, const std::vector<OptionInfo>& also) {
  json_.key("type").value("object").key("properties").open('{');
  for (const OptionInfo& option : options) property(option);
  for (const OptionInfo& option : also) {
    const bool own =
        std::any_of(options.begin(), options.end(), [&](const OptionInfo& other) { return other.name == option.name; });
    if (!own) property(option);
  }
  json_.close('}');
  if (has_required(options)) {
    json_.key("required").open('[');
    for (const OptionInfo& option : options) {
      if (option.required) json_.value(option.name);
    }
    json_.close(']');
  }
  json_.key("additionalProperties").value(false);
}

void SchemaWriter::property(const OptionInfo& option) {
  json_.key(option.name).open('{').key("description").value(option.doc);
  if (!option.fallback.is_null()) append_spec(json_.key("default"), option.fallback);
  any_of(option.forms);
  json_.close('}');
}

void SchemaWriter::any_of(const std::vector<OptionForm>& forms) {
  if (forms.size() == 1) {
    form(forms.front());
    return;
  }
  json_.key("anyOf").open('[');
  for (const OptionForm& one : forms) {
    json_.open('{');
    form(one);
    json_.close('}');
  }
  json_.close(']');
}

void SchemaWriter::form(const OptionForm& form) {
  switch (form.is) {
    case Is::any: return;
    case Is::flag: json_.key("type").value("boolean"); return;
    case Is::integer:
    case Is::number:
      json_.key("type").value(form.is == Is::integer ? "integer" : "number");
      bounds(form);
      return;
    case Is::text:
      if (form.pattern.empty()) {
        // Whatever is written without brackets is a text where one is wanted.
        json_.key("type").open('[').value("string").value("number").value("boolean").close(']');
      } else {
        json_.key("type").value("string").key("pattern").value(form.pattern);
      }
      return;
    case Is::name:
      json_.key("enum").open('[');
      for (const std::string& name : form.names) json_.value(name);
      json_.close(']');
      return;
    case Is::list:
      json_.key("type").value("array");
      if (form.not_empty) json_.key("minItems").value(1);
      json_.key("items").open('{');
      any_of(form.items);
      json_.close('}');
      return;
    case Is::map:
      json_.key("type").value("object").key("additionalProperties").open('{');
      any_of(form.items);
      json_.close('}');
      return;
    case Is::options: options(form.options); return;
    case Is::kind: json_.key("$ref").value("#/$defs/" + definition(form.sort)); return;
  }
}

void SchemaWriter::bounds(const OptionForm& form) {
  const auto bound = [&](const char* name, double value) {
    constexpr double kMostExact = 9e15;
    if (!std::isfinite(value)) return;
    json_.key(name);
    const bool whole = std::abs(value) < kMostExact && value == std::trunc(value);
    whole ? json_.value(static_cast<int64_t>(value)) : json_.value(value);
  };
  bound(form.range.above_min ? "exclusiveMinimum" : "minimum", form.range.min);
  bound(form.range.below_max ? "exclusiveMaximum" : "maximum", form.range.max);
}

void SchemaWriter::kinds(const std::vector<KindInfo>& kinds, const std::vector<OptionInfo>& common) {
  json_.key("anyOf").open('[');
  for (const KindInfo& kind : kinds) {
    if (has_required(kind.options)) continue;
    json_.open('{').key("const").value(kind.kind).key("description").value(kind.doc).close('}');
  }
  json_.open('{').key("type").value("object").key("properties").open('{');
  for (const KindInfo& kind : kinds) {
    json_.key(kind.kind).open('{').key("description").value(kind.doc);
    options_of_kind(kind.options, common);
    json_.close('}');
  }
  json_.close('}').key("minProperties").value(1).key("maxProperties").value(1);
  json_.key("additionalProperties").value(false).close('}').close(']');
}

void SchemaWriter::options_of_kind(const std::vector<OptionInfo>& own, const std::vector<OptionInfo>& common) {
  const auto alone = std::find_if(own.begin(), own.end(), [](const OptionInfo& option) { return option.stands_alone; });
  if (has_required(own) && alone == own.end()) {
    options(own, common);
    return;
  }
  json_.key("anyOf").open('[');
  // `relu:` without a value is `relu`.
  if (!has_required(own)) json_.open('{').key("type").value("null").close('}');
  json_.open('{');
  options(own, common);
  json_.close('}');
  if (alone != own.end()) {
    json_.open('{');
    any_of(alone->forms);
    json_.close('}');
  }
  json_.close(']');
}

}  // namespace

std::string config_schema(const Catalog& catalog) { return SchemaWriter().write(catalog); }

}  // namespace millrace::cli
