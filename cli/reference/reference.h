// The reference of all keys and kinds of a configuration, gathered from their declarations: as text for a terminal, as
// JSON, as Markdown and as a schema. Pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/options.h"
#include "millrace/trainer/config/catalog.h"

namespace millrace::cli {

// One op, layer, loss, metric, optimizer or schedule.
struct KindReference {
  std::string sort;  // "layer", "input op": what its registry calls its kinds
  KindInfo info;
  std::vector<OptionInfo> common;  // keys that every kind of the sort has
  std::string ports;               // for an op: "text -> rows"
};

std::vector<KindReference> describe_ops(const Catalog& catalog);
// Layers, losses, metrics, optimizers and schedules.
std::vector<KindReference> describe_layers(const Catalog& catalog);

// The kind as a configuration may hold it: "dense: {units: 64}", or only its name. The options are those that its
// author gives as an example, else the required ones with plausible values.
std::string kind_example(const KindInfo& kind);
// The same under the key where it belongs, in lines.
std::string placed_example(const KindReference& kind);

// An option with the path that leads to it: "train.steps", "decode_csv.fields.NAME.columns".
struct PlacedOption {
  std::string path;
  const OptionInfo* option;  // points into what flatten() was given
};
// Every option with those inside it; an option comes before those inside it.
std::vector<PlacedOption> flatten(std::span<const OptionInfo> options);

// The default as a configuration would write it; empty if there is none, or if it is a map.
std::string default_text(const OptionInfo& option);
// "integer; at least 1".
std::string value_text(const OptionInfo& option);
std::string plural(std::string_view sort);
// The kinds of each sort, which follow one another in `kinds`.
std::vector<std::span<const KindReference>> by_sort(std::span<const KindReference> kinds);
// The sorts of these kinds, as a user asks for a group: "metrics".
std::vector<std::string> sorts_of(std::span<const KindReference> kinds);

// The names that the placeholders OP, KIND and KEY of the command line stand for; empty for others.
std::vector<std::string> names_for(std::string_view placeholder);

// One kind: what it does, where it belongs, its options with those inside them, and an example.
std::string kind_page(const KindReference& kind);
// All of them, by sort, each with its options.
std::string kinds_text(std::span<const KindReference> kinds);
// The keys, each with the path that leads to it.
std::string keys_text(std::span<const PlacedOption> keys);
// The same for programs, as one line of JSON.
std::string kinds_json(std::span<const KindReference> kinds);
std::string keys_json(std::span<const PlacedOption> keys);

// docs/config.md: every key and every kind.
std::string config_markdown(const Catalog& catalog);

// The configuration as JSON Schema (draft 2020-12), for editors, in one line; equal catalogs give equal bytes. The
// schema does not check what an option's declaration cannot tell: rules between keys, shapes, files.
std::string config_schema(const Catalog& catalog);

}  // namespace millrace::cli
