// The reference of what a configuration may hold, gathered from the declarations of its keys and kinds.
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
  std::string sort;  // "layer", "input op": what its registry calls it
  KindInfo info;
  std::vector<OptionInfo> common;  // keys that every kind of the sort has
  std::string ports;               // of an op: "text -> rows"
};

std::vector<KindReference> describe_ops(const Catalog& catalog);
// Layers, losses, metrics, optimizers and schedules.
std::vector<KindReference> describe_layers(const Catalog& catalog);

// The node as a configuration may hold it, "dense: {units: 64}", or the name alone: the options that its author gives
// as an example, else the required ones with plausible values.
std::string kind_example(const KindInfo& kind);
// The same with the key that it stands under, in lines.
std::string placed_example(const KindReference& kind);

// An option with the path that leads to it: "train.steps", "decode_csv.fields.NAME.columns".
struct PlacedOption {
  std::string path;
  const OptionInfo* option;  // of those given to flatten()
};
// Every option and those inside it, each before its own.
std::vector<PlacedOption> flatten(std::span<const OptionInfo> options);

// The default as it is written in a configuration; empty when there is none, or too much of it.
std::string default_text(const OptionInfo& option);
// "integer; at least 1".
std::string value_text(const OptionInfo& option);
// "input ops": the sort that the option names kinds of; empty when it names none.
std::string named_sort(const OptionInfo& option);
std::string plural(std::string_view sort);
// The sorts of these kinds as a group is asked for: "metrics".
std::vector<std::string> sorts_of(const std::vector<KindReference>& kinds);
// Whatever else is to be said of an option, to stand after its doc: "; changes no row".
std::string notes_of(const OptionInfo& option);

// The names that a placeholder of the command line stands for: OP, KIND or KEY. None for others.
std::vector<std::string> names_for(std::string_view placeholder);

}  // namespace millrace::cli
