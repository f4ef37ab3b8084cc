#include <algorithm>
#include <map>
#include <utility>

#include "millrace/cli/arguments/configuration.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/usage_error.h"
#include "millrace/cli/reference/example_config.h"
#include "millrace/cli/reference/reference_page.h"
#include "millrace/cli/reference/schema.h"
#include "millrace/core/text.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/config.h"

namespace millrace::cli {

namespace {

[[noreturn]] void throw_unknown(std::string_view what, const std::string& name, const std::vector<std::string>& known,
                                std::string_view listed_by) {
  const std::string near = nearest(name, known);
  throw UsageError(
      cat("unknown ", what, ' ', quote(name)), {},
      near.empty() ? cat(listed_by, " lists them") : cat("did you mean ", near, "? (", listed_by, " lists all)"));
}

// The sorts of kinds as a group is asked for: "metrics".
std::vector<std::string> sorts_of(const std::vector<KindReference>& kinds) {
  std::vector<std::string> out;
  for (const KindReference& kind : kinds) {
    if (out.empty() || out.back() != plural(kind.sort)) out.push_back(plural(kind.sort));
  }
  return out;
}

int print(const std::vector<KindReference>& kinds, const Arguments& arguments, std::string_view what,
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

// The parts of a path, the last first.
std::vector<std::string> parts_of(std::string path) {
  std::vector<std::string> out;
  for (size_t dot = path.rfind('.'); dot != path.npos; dot = path.rfind('.')) {
    out.push_back(path.substr(dot + 1));
    path.resize(dot);
  }
  out.push_back(std::move(path));
  return out;
}

// What explains a name that is no key but a kind, or an option of kinds; empty when nothing does.
std::string explained_by(const std::string& name, const std::vector<KindReference>& kinds, const std::string& command) {
  const std::vector<std::string> parts = parts_of(name);
  for (const std::string& part : parts) {
    for (const KindReference& kind : kinds) {
      if (kind.info.kind == part) return cat(command, ' ', part, " says what ", part, " takes");
    }
  }
  std::vector<std::string> having;
  for (const KindReference& kind : kinds) {
    const bool has = std::any_of(kind.info.options.begin(), kind.info.options.end(),
                                 [&](const OptionInfo& option) { return option.name == parts.front(); });
    if (has) having.push_back(kind.info.kind);
  }
  if (having.empty()) return {};
  std::sort(having.begin(), having.end());
  having.erase(std::unique(having.begin(), having.end()), having.end());
  return cat(parts.front(), " is an option of ", join(having), ": ", command,
             having.size() == 1 ? ' ' + having[0] : "");
}

[[noreturn]] void throw_unknown_key(const std::string& name, const std::vector<std::string>& known,
                                    const Catalog& catalog) {
  // Of a top-level key; those further down are rarely meant.
  const auto below = std::find_if(known.begin(), known.end(), [&](const std::string& key) {
    return key.ends_with('.' + name) && key.find('.') == key.size() - name.size() - 1;
  });
  std::string hint = below == known.end() ? std::string() : cat("did you mean ", *below, "?");
  if (hint.empty()) hint = explained_by(name, describe_layers(catalog), "trainer layers");
  if (hint.empty()) hint = explained_by(name, describe_ops(catalog), "trainer ops");
  if (hint.empty()) throw_unknown("key", name, known, "trainer config");
  throw UsageError(cat("unknown key ", quote(name)), {}, hint);
}

std::vector<std::string> top_level_keys() {
  std::vector<std::string> out;
  for (const OptionInfo& key : describe_config()) out.push_back(key.name);
  return out;
}

std::vector<std::string> kind_names(const std::vector<KindReference>& kinds, std::vector<std::string> out = {}) {
  for (const KindReference& kind : kinds) out.push_back(kind.info.kind);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

int run_ops(const Arguments& arguments, Session& session) {
  return print(describe_ops(read_catalog(arguments)), arguments, "input op", "trainer ops", session);
}

int run_layers(const Arguments& arguments, Session& session) {
  return print(describe_layers(read_catalog(arguments)), arguments, "layer, loss, metric, optimizer or schedule",
               "trainer layers", session);
}

int run_config(const Arguments& arguments, Session& session) {
  if (arguments.example) {
    session.out.write(example_config());
    return kExitDone;
  }
  const Catalog catalog = read_catalog(arguments);
  if (arguments.markdown) {
    session.out.write(config_markdown(catalog));
    return kExitDone;
  }
  const std::vector<OptionInfo> keys = describe_config();
  std::vector<PlacedOption> all = flatten(keys), wanted;
  std::vector<std::string> known;
  for (const PlacedOption& key : all) {
    known.push_back(key.path);
    if (key.path == arguments.name || key.path.starts_with(arguments.name + '.')) wanted.push_back(key);
  }
  if (arguments.name.empty()) wanted = all;
  if (wanted.empty()) throw_unknown_key(arguments.name, known, catalog);
  session.out.write(arguments.json ? keys_json(wanted) : keys_text(wanted));
  return kExitDone;
}

int run_schema(const Arguments& arguments, Session& session) {
  session.out.write(config_schema(read_catalog(arguments)));
  return kExitDone;
}

int run_completion(const Arguments& arguments, Session& session) {
  const Catalog catalog = Catalog::builtin();
  const std::vector<KindReference> layers = describe_layers(catalog);
  const std::map<std::string, std::vector<std::string>> names = {{"OP", kind_names(describe_ops(catalog))},
                                                                 {"KIND", kind_names(layers, sorts_of(layers))},
                                                                 {"KEY", top_level_keys()}};
  session.out.write(completion_script(arguments.shell, describe_commands(), [&](const std::string& value) {
    const auto found = names.find(value);
    return found == names.end() ? std::vector<std::string>() : found->second;
  }));
  return kExitDone;
}

}  // namespace millrace::cli
