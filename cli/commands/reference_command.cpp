#include <algorithm>
#include <set>

#include "millrace/cli/arguments/configuration.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/reference/reference.h"
#include "millrace/core/text.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/config.h"

namespace millrace::cli {

namespace {

constexpr CommandText kOpsText = {
    "ops", "Lists the input ops, with every option, type and default.", "  trainer ops [OP] [--json]",
    R"(An op is an item of the list `input` of a configuration: its name alone, or `name: {option: value}`.

EXAMPLES:
  trainer ops
  trainer ops shuffle_batch
  trainer ops --json
)",
    "trainer layers, trainer config input, docs/input_graph.md"};

constexpr CommandText kLayersText = {
    "layers", "Lists layers, losses, metrics, optimizers and schedules, with every option and default.",
    R"(  trainer layers [KIND] [--json]
  trainer layers layers|losses|metrics|optimizers|schedules [--json])",
    R"(They are what the keys `model`, `loss`, `metrics` and `optimizer` of a configuration name: `dense:
{units: 3}`, or the name alone if no option is required. Schedules are what an optimizer's option
`schedule` names.

EXAMPLES:
  trainer layers
  trainer layers dense
  trainer layers metrics
  trainer layers --json
)",
    "trainer ops, trainer config model, docs/extending.md"};

constexpr CommandText kConfigText = {
    "config", "Lists the keys of a configuration, with every type and default.",
    R"(  trainer config [KEY] [--json]
  trainer config --example
  trainer config --markdown)",
    R"(A KEY with dots is a key below another one, as --set writes it. Ops, layers, losses, metrics and
optimizers have pages of their own: trainer ops, trainer layers.

EXAMPLES:
  trainer config --example > mlp.yaml
  trainer config train
  trainer config train.on_nonfinite
  trainer config --markdown > config.md
)",
    "trainer ops, trainer layers, trainer schema, docs/config.md"};

constexpr CommandText kSchemaText = {
    "schema", "Prints the JSON Schema of configurations, by which editors complete and check them.", "  trainer schema",
    R"(The schema is of draft 2020-12 and knows every kind, option, range and default of this build. An
editor with the YAML language server reads it from a first line such as
  # yaml-language-server: $schema=millrace.schema.json
What depends on several keys or on the data is left to trainer check.

EXAMPLES:
  trainer schema > millrace.schema.json
)",
    "trainer config, trainer check"};

// The text of `trainer config --example`.
constexpr std::string_view kExample = R"(# Learns from CSV files whether a row belongs to class 1. As mlp.yaml:
#   trainer generate sum --features 8 --out data/sum       data to try it with
#   trainer check mlp.yaml
#   trainer mlp.yaml --save model.safetensors
#   trainer predict --model model.safetensors --data "data/sum/*.csv"
seed: 1
input:
  - filename_queue: {files: data/sum/*.csv, epochs: 5}   # every file, in another order each time
  - csv_reader: {header: false}                          # true: the first line names the columns
  - decode_csv:
      fields:
        features: {columns: 0-7}                         # with a header also by name: [age, height]
        label: {columns: 8}                              # 0 or 1; several classes: 0, 1, 2, .. and type: int32
  - shuffle_batch: {batch_size: 32, capacity: 1000, min_after_dequeue: 500, allow_smaller_final_batch: true}
model:
  - dense: {units: 16, activation: relu}
  - dense: {units: 1}                                    # several classes: as many units; a number: 1
loss: sigmoid_cross_entropy                              # several classes: softmax_cross_entropy; a number: mse
metrics: [accuracy]                                      # a number: [mae, r2]
optimizer: {adam: {learning_rate: 0.01}}
train: {log_every: 50, report_over: window}
# validation: {files: data/held-out/*.csv, every: 100}   # rows that are not trained on
# save: model.safetensors
)";

struct ReferenceArguments : PluginArguments {
  std::string name;
  bool json = false;

  void declare(Command& c, std::string_view placeholder, std::string_view doc) {
    c.text(placeholder, name, placeholder, doc);
    PluginArguments::declare(c);
    c.flag("--json", json, "print it as one line of JSON");
  }
};

struct OpsArguments : ReferenceArguments {
  void declare(Command& c) { ReferenceArguments::declare(c, "OP", "only this op, as a page with an example"); }
};

struct LayersArguments : ReferenceArguments {
  void declare(Command& c) {
    ReferenceArguments::declare(
        c, "KIND", "only this layer, loss, metric, optimizer or schedule, as a page; or all of a sort: metrics");
  }
};

struct ConfigPageArguments : ReferenceArguments {
  bool example = false;
  bool markdown = false;

  void declare(Command& c) {
    ReferenceArguments::declare(c, "KEY", "only this key, and those below it: train, train.steps");
    c.flag("--example", example, "print a whole configuration to begin with");
    c.flag("--markdown", markdown, "print all of it, with every kind, as Markdown");
  }
  void check(const Command&) const {
    const bool narrowed = !name.empty() || json;
    if (example && (narrowed || markdown || !plugins.empty())) {
      throw UsageError("--example prints one text, which nothing else changes", {},
                       "leave out KEY and the other options");
    }
    if (markdown && narrowed) {
      throw UsageError("--markdown prints every key, as Markdown", {}, "leave out KEY and --json");
    }
  }
};

[[noreturn]] void throw_unknown(std::string_view what, const std::string& name, const std::vector<std::string>& known,
                                std::string_view listed_by) {
  const std::string near = nearest(name, known);
  throw UsageError(
      cat("unknown ", what, ' ', quote(name)), {},
      near.empty() ? cat(listed_by, " lists them") : cat("did you mean ", near, "? (", listed_by, " lists all)"));
}

int print(const std::vector<KindReference>& kinds, const ReferenceArguments& arguments, std::string_view what,
          std::string_view listed_by, Session& session) {
  const std::string& name = arguments.name;
  std::vector<KindReference> called, of_sort;
  std::vector<std::string> known = sorts_of(kinds);
  for (const KindReference& kind : kinds) {
    known.push_back(kind.info.kind);
    if (kind.info.kind == name) called.push_back(kind);
    if (name == kind.sort || name == plural(kind.sort)) of_sort.push_back(kind);
  }
  const std::vector<KindReference>& wanted = name.empty() ? kinds : !called.empty() ? called : of_sort;
  if (wanted.empty()) throw_unknown(what, name, known, listed_by);
  if (arguments.json) {
    session.out.write(kinds_json(wanted));
  } else if (called.empty()) {
    session.out.write(kinds_text(wanted));
  } else {
    // A loss and a metric may share their name.
    for (const KindReference& kind : called)
      session.out.write(cat(&kind == &called.front() ? "" : "\n", kind_page(kind)));
  }
  return kExitDone;
}

// A hint for an unknown key: the command that explains the kind, or the option of a kind, with this name. Empty if
// there is none.
std::string explained_by(const std::string& name, const std::vector<KindReference>& kinds, const std::string& command) {
  // Tries each part of the path as a kind, from the last to the first.
  std::string path = name;
  for (size_t dot = 0; dot != path.npos; path.resize(std::min(dot, path.size()))) {
    dot = path.rfind('.');
    const std::string part = path.substr(dot + 1);
    for (const KindReference& kind : kinds) {
      if (kind.info.kind == part) return cat(command, ' ', part, " says what ", part, " takes");
    }
  }
  const std::string last = name.substr(name.rfind('.') + 1);
  std::set<std::string> having;
  for (const KindReference& kind : kinds) {
    for (const OptionInfo& option : kind.info.options) {
      if (option.name == last) having.insert(kind.info.kind);
    }
  }
  if (having.empty()) return {};
  return cat(last, " is an option of ", join(std::vector(having.begin(), having.end())), ": ", command,
             having.size() == 1 ? ' ' + *having.begin() : "");
}

[[noreturn]] void throw_unknown_key(const std::string& name, const std::vector<std::string>& known,
                                    const Catalog& catalog) {
  // A key directly below a top-level key; deeper keys are rarely meant.
  const auto below = std::find_if(known.begin(), known.end(), [&](const std::string& key) {
    return key.ends_with('.' + name) && key.find('.') == key.size() - name.size() - 1;
  });
  std::string hint = below == known.end() ? std::string() : cat("did you mean ", *below, "?");
  if (hint.empty()) hint = explained_by(name, describe_layers(catalog), "trainer layers");
  if (hint.empty()) hint = explained_by(name, describe_ops(catalog), "trainer ops");
  if (hint.empty()) throw_unknown("key", name, known, "trainer config");
  throw UsageError(cat("unknown key ", quote(name)), {}, hint);
}

int run_ops(const OpsArguments& arguments, Session& session) {
  return print(describe_ops(read_catalog(arguments)), arguments, "input op", "trainer ops", session);
}

int run_layers(const LayersArguments& arguments, Session& session) {
  return print(describe_layers(read_catalog(arguments)), arguments, "layer, loss, metric, optimizer or schedule",
               "trainer layers", session);
}

int run_config(const ConfigPageArguments& arguments, Session& session) {
  if (arguments.example) {
    session.out.write(kExample);
    return kExitDone;
  }
  const Catalog catalog = read_catalog(arguments);
  if (arguments.markdown) {
    session.out.write(config_markdown(catalog));
    return kExitDone;
  }
  const std::vector<OptionInfo> keys = describe_config();
  const std::string& name = arguments.name;
  std::vector<PlacedOption> wanted;
  std::vector<std::string> known;
  for (const PlacedOption& key : flatten(keys)) {
    known.push_back(key.path);
    if (name.empty() || key.path == name || key.path.starts_with(name + '.')) wanted.push_back(key);
  }
  if (wanted.empty()) throw_unknown_key(name, known, catalog);
  session.out.write(arguments.json ? keys_json(wanted) : keys_text(wanted));
  return kExitDone;
}

int run_schema(const PluginArguments& arguments, Session& session) {
  session.out.write(config_schema(read_catalog(arguments)));
  return kExitDone;
}

}  // namespace

Command ops_command() { return make_command(kOpsText, run_ops); }
Command layers_command() { return make_command(kLayersText, run_layers); }
Command config_command() { return make_command(kConfigText, run_config); }
Command schema_command() { return make_command(kSchemaText, run_schema); }

}  // namespace millrace::cli
