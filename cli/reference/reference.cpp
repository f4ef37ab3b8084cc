#include "millrace/cli/reference/reference.h"

#include <algorithm>
#include <cmath>

#include "millrace/core/text.h"
#include "millrace/input/graph/graph_list.h"
#include "millrace/layers/schedule/schedule.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/config/config_nodes.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"

namespace millrace::cli {

namespace {

using Is = OptionForm::Is;

template <class Base>
void add(std::vector<KindReference>& out, const Registry<Base>& registry, const std::vector<OptionInfo>& common) {
  for (KindInfo& info : registry.describe()) out.push_back({registry.what(), std::move(info), common, {}});
}

// "text -> rows" for an op that was made from its example. The op says what it reads. Its class says what it gives,
// except that sources of text and of rows have the same class: there `leads` decides, which the kind declares.
std::string ports_of(const Op& op, std::string_view leads) {
  std::string in;
  for (const PortType port : op.inputs()) in += cat(in.empty() ? "" : ", ", to_string(port));
  PortType out = PortType::rows;
  if (dynamic_cast<const NameSource*>(&op) != nullptr) out = PortType::names;
  if (dynamic_cast<const RowSource*>(&op) != nullptr && leads.ends_with(" to text")) out = PortType::text;
  if (dynamic_cast<const BatchBuffer*>(&op) != nullptr) out = PortType::batches;
  if (op.joins()) in += ", ...";
  return cat(in.empty() ? "nothing" : in, " -> ", to_string(out));
}

Spec example_of(const KindInfo& kind) { return parse_yaml(kind_example(kind), "the example of " + kind.kind); }

// The value as YAML on one line. Items of lists are written so.
std::string on_one_line(const Spec& value) {
  std::string line = to_yaml(Spec::list().append(value));
  line.pop_back();
  return line.starts_with("- ") ? line.substr(2) : line.substr(1, line.size() - 2);
}

// A number for an example: `wanted` if it is in the range, else a number in the range.
double plausible(const Range& range, double wanted) {
  const bool low = range.above_min ? wanted <= range.min : wanted < range.min;
  const bool high = range.below_max ? wanted >= range.max : wanted > range.max;
  if (!low && !high) return wanted;
  if (!std::isfinite(range.max)) return range.min + 1;
  if (!std::isfinite(range.min)) return range.max - 1;
  return range.min + (range.max - range.min) / 2;
}

Spec plausible_value(const OptionInfo& option, const OptionForm& form);

Spec plausible_options(const std::vector<OptionInfo>& options) {
  Spec out = Spec::map();
  for (const OptionInfo& option : options) {
    if (option.required) out.set(option.name, plausible_value(option, option.forms.front()));
  }
  return out;
}

Spec plausible_value(const OptionInfo& option, const OptionForm& form) {
  switch (form.is) {
    case Is::flag: return Spec::of(true);
    case Is::integer: return Spec::of(static_cast<int64_t>(std::ceil(plausible(form.range, 10))));
    case Is::number: return Spec::of(plausible(form.range, 0.1));
    case Is::name: return Spec::of(form.names.front());
    case Is::list: return Spec::list().append(plausible_value(option, form.items.front()));
    case Is::map: return Spec::map().set("name", plausible_value(option, form.items.front()));
    case Is::options: return plausible_options(form.options);
    case Is::kind:
    case Is::text:
    case Is::any: break;
  }
  return Spec::of(option.name);
}

// The value that may stand in place of `options`, if they are only this value; else null.
const Spec* value_alone(const KindInfo& kind, const Spec& options) {
  for (const OptionInfo& option : kind.options) {
    if (option.stands_alone && options.size() == 1) return options.find(option.name);
  }
  return nullptr;
}

void flatten_into(std::span<const OptionInfo> options, const std::string& above, std::vector<PlacedOption>& out);

void flatten_form(const OptionForm& form, const std::string& path, std::vector<PlacedOption>& out) {
  flatten_into(form.options, path + '.', out);
  for (const OptionForm& item : form.items) flatten_form(item, form.is == Is::map ? path + ".NAME" : path, out);
}

void flatten_into(std::span<const OptionInfo> options, const std::string& above, std::vector<PlacedOption>& out) {
  for (const OptionInfo& option : options) {
    // If an option takes a value or a list of such values, the options inside it would come twice.
    const std::string path = above + option.name;
    if (std::ranges::find(out, path, &PlacedOption::path) != out.end()) continue;
    out.push_back({path, &option});
    for (const OptionForm& form : option.forms) flatten_form(form, path, out);
  }
}

}  // namespace

std::vector<KindReference> describe_ops(const Catalog& catalog) {
  std::vector<KindReference> out;
  add(out, catalog.ops, describe_graph_keys());
  for (KindReference& op : out) {
    const Spec example = example_of(op.info);
    const std::unique_ptr<Op> made = catalog.ops.make(catalog.ops.read(example, "an input op"), example);
    op.ports = attributed(*made, [&] { return ports_of(*made, catalog.ops.entries().at(op.info.kind).leads); });
    if (made->joins()) op.info.example = cat("from: [a, b]", op.info.example.empty() ? "" : ", ", op.info.example);
  }
  return out;
}

std::vector<KindReference> describe_layers(const Catalog& catalog) {
  std::vector<KindReference> out;
  add(out, catalog.layers.layers, describe_layer_keys());
  add(out, catalog.layers.losses, describe_loss_keys());
  add(out, catalog.layers.metrics, {});
  add(out, catalog.layers.optimizers, {});
  add(out, schedules(), {});
  return out;
}

std::string kind_example(const KindInfo& kind) {
  const bool made_up = kind.example.empty();
  const Spec options = made_up ? plausible_options(kind.options)
                               : parse_yaml(cat('{', kind.example, '}'), "the example of " + kind.kind);
  if (made_up && options.size() == 0) return kind.kind;
  const Spec* alone = value_alone(kind, options);
  if (alone == nullptr && !made_up) return cat(kind.kind, ": {", kind.example, '}');
  return on_one_line(Spec::map().set(kind.kind, alone == nullptr ? options : *alone));
}

std::string placed_example(const KindReference& kind) {
  const std::string node = kind_example(kind.info);
  const bool named = node == kind.info.kind;
  if (kind.sort == "input op") return "input:\n  - " + node;
  if (kind.sort == "layer") return "model:\n  - " + node;
  if (kind.sort == "metric") return named ? "metrics: [" + node + ']' : "metrics:\n  - " + node;
  const std::string value = named ? node : cat('{', node, '}');
  if (kind.sort == "schedule") return cat("optimizer: {adam: {schedule: ", value, "}}");
  return cat(kind.sort, ": ", value);
}

std::vector<PlacedOption> flatten(std::span<const OptionInfo> options) {
  std::vector<PlacedOption> out;
  flatten_into(options, {}, out);
  return out;
}

std::string default_text(const OptionInfo& option) {
  if (option.required || option.fallback.is_null() || option.fallback.is_map()) return {};
  return on_one_line(option.fallback);
}

std::string value_text(const OptionInfo& option) {
  for (const OptionForm& form : option.forms) {
    if (const std::string range = range_text(form.range); !range.empty()) return cat(option.type, "; ", range);
  }
  return option.type;
}

std::string plural(std::string_view sort) { return cat(sort, sort.ends_with('s') ? "es" : "s"); }

std::vector<std::span<const KindReference>> by_sort(std::span<const KindReference> kinds) {
  std::vector<std::span<const KindReference>> out;
  while (!kinds.empty()) {
    size_t count = 1;
    while (count < kinds.size() && kinds[count].sort == kinds[0].sort) ++count;
    out.push_back(kinds.first(count));
    kinds = kinds.subspan(count);
  }
  return out;
}

std::vector<std::string> sorts_of(std::span<const KindReference> kinds) {
  std::vector<std::string> out;
  for (const auto& sort : by_sort(kinds)) out.push_back(plural(sort.front().sort));
  return out;
}

std::vector<std::string> names_for(std::string_view placeholder) {
  std::vector<std::string> out;
  if (placeholder == "KEY") {
    for (const OptionInfo& key : describe_config()) out.push_back(key.name);
  } else if (placeholder == "OP" || placeholder == "KIND") {
    const Catalog catalog = Catalog::builtin();
    const std::vector<KindReference> kinds = placeholder == "OP" ? describe_ops(catalog) : describe_layers(catalog);
    if (placeholder == "KIND") out = sorts_of(kinds);
    for (const KindReference& kind : kinds) out.push_back(kind.info.kind);
    std::ranges::sort(out);
    out.erase(std::ranges::unique(out).begin(), out.end());
  }
  return out;
}

}  // namespace millrace::cli
