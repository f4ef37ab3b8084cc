#include "millrace/input/graph/graph_list.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "millrace/core/free_names.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

struct GraphKeys {
  std::optional<std::string> name;
  std::optional<std::vector<std::string>> from;

  void declare(OptionReader& o) {
    o.optional("from", from, "the ops that it reads; by default the op before it");
    o.optional("name", name, "its name for other ops, and the key of its random numbers; by default the kind");
    if (!o.reading()) return;
    if (name && !is_name(*name)) {
      const Spec& node = o.node("name");
      throw node.error(cat("expected a name of letters, digits, _ and -, got ", node.describe()));
    }
    if (const std::string wrong = name_too_long(name.value_or("")); !wrong.empty()) throw o.node("name").error(wrong);
    if (from && from->empty()) throw o.node("from").error("expected the name of an op, got an empty list");
  }
};

void take_graph_keys(KindAndOptions& item, GraphNode& node) {
  Spec written = Spec::map(item.options.place());
  written.set_path(item.options.path());
  for (const OptionInfo& key : describe_graph_keys()) {
    if (const Spec* value = std::as_const(item.options).find(key.name)) written.set(key.name, *value);
    item.options.erase(key.name);
  }
  auto keys = read_options<GraphKeys>(written);
  node.name = std::move(keys.name).value_or(std::string());
  node.from = std::move(keys.from).value_or(std::vector<std::string>());
}

// Ops without a name are called after their kind, with _2, _3 and so on where that is taken.
void name_ops(std::vector<GraphNode>& nodes) {
  FreeNames names;
  for (const GraphNode& node : nodes) {
    if (!node.name.empty() && !names.take(node.name)) {
      throw node.spec.error(cat("two ops have the name ", node.name), "give one of them another name");
    }
  }
  for (GraphNode& node : nodes) {
    if (node.name.empty()) node.name = names.give(node.kind);
  }
}

Spec resolved_item(const GraphNode& node, const Spec& options) {
  Spec all = Spec::map(node.spec.place());
  all.set("name", Spec::scalar(node.name, true, node.spec.place()));
  if (!node.from.empty()) all.set("from", OptionType<std::vector<std::string>>::write(node.from));
  for (const auto& [key, value] : options.entries()) all.set(key, value);
  Spec item = Spec::map(node.spec.place());
  item.set(node.kind, std::move(all));
  return item;
}

void set_role(GraphNode& node) {
  node.names = dynamic_cast<NameSource*>(node.op.get());
  node.source = dynamic_cast<RowSource*>(node.op.get());
  node.transform = dynamic_cast<Transform*>(node.op.get());
  node.row_buffer = dynamic_cast<RowBuffer*>(node.op.get());
  node.batch_buffer = dynamic_cast<BatchBuffer*>(node.op.get());
  const int roles = (node.names != nullptr) + (node.source != nullptr) + (node.transform != nullptr) +
                    (node.row_buffer != nullptr) + (node.batch_buffer != nullptr);
  if (roles != 1) {
    throw InternalError(cat("the input op ", node.kind,
                            " must be one of name source, row source, transform, row buffer and batch buffer"));
  }
}

void append_lines(const Spec& spec, const std::string& path, std::string& out) {
  if (spec.is_map()) {
    for (const auto& [key, value] : spec.entries()) append_lines(value, cat(path, '.', key), out);
  } else if (spec.is_list()) {
    for (size_t i = 0; i < spec.size(); ++i) append_lines(spec.items()[i], cat(path, '[', i, ']'), out);
  } else {
    out += cat(path, " = ", spec.is_null() ? std::string("null") : quote(spec.as_string(), std::string::npos), '\n');
  }
}

std::vector<std::string> kinds_between(const OpRegistry& registry, PortType got, PortType expected) {
  std::vector<std::string> fewest;
  for (const auto& [kind, entry] : registry.entries()) {
    for (auto port = static_cast<uint8_t>(got) + 1; port <= static_cast<uint8_t>(expected); ++port) {
      const auto next = static_cast<PortType>(port);
      if (entry.leads != cat(to_string(got), " to ", to_string(next))) continue;
      std::vector<std::string> kinds = {kind};
      if (next != expected) {
        const std::vector<std::string> rest = kinds_between(registry, next, expected);
        if (rest.empty()) continue;
        kinds.insert(kinds.end(), rest.begin(), rest.end());
      }
      if (fewest.empty() || kinds.size() < fewest.size()) fewest = std::move(kinds);
    }
  }
  return fewest;
}

}  // namespace

const OptionInfo* option_of(const GraphNode& node, OptionUse use) {
  const auto found = std::ranges::find(node.options, use, &OptionInfo::use);
  return found == node.options.end() ? nullptr : &*found;
}

std::vector<OptionInfo> describe_graph_keys() { return describe_options<GraphKeys>(); }

std::vector<GraphNode> read_graph_list(const Spec& list, const OpRegistry& registry, Spec& resolved) {
  std::vector<GraphNode> nodes;
  std::vector<Spec> options;
  for (const Spec& item : list.items()) {
    KindAndOptions wanted = registry.read(item, "an input op");
    GraphNode node;
    node.kind = wanted.kind;
    node.spec = item;
    take_graph_keys(wanted, node);
    node.op = registry.make(wanted, item, &options.emplace_back());
    node.options = registry.options_of(node.kind, item);
    set_role(node);
    nodes.push_back(std::move(node));
  }
  if (nodes.empty()) throw list.error("expected at least one input op, got an empty list");
  name_ops(nodes);
  for (GraphNode& node : nodes) {
    node.op->set_origin({node.name, node.spec.place()});
    node.ports = attributed(*node.op, &Op::inputs);
    node.joins = attributed(*node.op, &Op::joins);
    if (node.joins && node.ports.empty()) throw InternalError(cat(node.name, " joins inputs, but inputs() names none"));
  }
  resolved = Spec::list(list.place());
  resolved.set_path(list.path());
  for (size_t i = 0; i < nodes.size(); ++i) resolved.append(resolved_item(nodes[i], options[i]));
  return nodes;
}

std::vector<std::string> listed_fields(const Spec& fields) {
  if (!fields.is_map()) return OptionType<std::vector<std::string>>::read(fields);
  std::vector<std::string> out;
  for (const auto& [name, field] : fields.entries()) out.push_back(name);
  return out;
}

std::vector<std::string> listed_files(const Spec& files) {
  if (!files.is_map()) return OptionType<std::vector<std::string>>::read(files);
  std::vector<std::string> out;
  for (const auto& [field, patterns] : files.entries()) {
    for (std::string& pattern : OptionType<std::vector<std::string>>::read(patterns)) out.push_back(std::move(pattern));
  }
  return out;
}

std::string kinds_hint(const OpRegistry& registry, PortType from, PortType to, std::string_view before,
                       std::string_view after) {
  const std::string kinds = join(kinds_between(registry, from, to));
  return kinds.empty() ? std::string() : cat(before, kinds, after);
}

std::string fingerprint(const GraphImpl& graph) {
  std::string lines = cat("seed = ", graph.seed, '\n');
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    const auto& [kind, options] = graph.resolved.items()[i].entries().front();
    lines += cat(node.name, " is ", kind, '\n');
    for (const auto& [key, value] : options.entries()) {
      const bool free = std::any_of(node.options.begin(), node.options.end(), [&key](const OptionInfo& info) {
        return info.decides == Decides::nothing && info.name == key;
      });
      if (!free) append_lines(value, cat(node.name, '.', key), lines);
    }
  }
  return lines;
}

std::string lines_to_keep(const GraphImpl& graph, std::string_view fingerprint) {
  std::vector<std::string> others;
  for (const GraphNode& node : graph.nodes) {
    const bool reads = node.names != nullptr || node.source != nullptr;
    for (const OptionInfo& info : node.options) {
      const bool is_other = info.decides == Decides::length || (reads && info.use == OptionUse::files);
      if (is_other) others.push_back(cat(node.name, '.', info.name));
    }
  }
  const auto begins = [](std::string_view line, std::string_view key) {
    return line.starts_with(key) && line.size() > key.size() &&
           std::string_view(" .[").find(line[key.size()]) != std::string_view::npos;
  };
  std::string out;
  while (!fingerprint.empty()) {
    const size_t end = std::min(fingerprint.find('\n'), fingerprint.size() - 1) + 1;
    const std::string_view line = fingerprint.substr(0, end);
    fingerprint.remove_prefix(end);
    if (std::ranges::none_of(others, [&](const std::string& key) { return begins(line, key); })) out += line;
  }
  return out;
}

}  // namespace millrace
