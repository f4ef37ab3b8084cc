#include <algorithm>
#include <map>

#include "millrace/core/text.h"
#include "millrace/trainer/catalog.h"
#include "millrace/trainer/cli/commands.h"
#include "millrace/trainer/cli/example_config.h"
#include "millrace/trainer/cli/exit_code.h"
#include "millrace/trainer/cli/reference_page.h"
#include "millrace/trainer/cli/schema.h"
#include "millrace/trainer/cli/usage_error.h"
#include "millrace/trainer/config.h"

namespace millrace::cli {

namespace {

[[noreturn]] void throw_unknown(std::string_view what, const std::string& name, const std::vector<std::string>& known,
                                std::string_view listed_by) {
  const std::string near = nearest(name, known);
  throw UsageError(
      cat("unknown ", what, ' ', quote(name)), {},
      near.empty() ? cat(listed_by, " lists them") : cat("did you mean ", near, "? (", listed_by, " lists all)"));
}

int print(const std::vector<KindReference>& kinds, const Arguments& arguments, std::string_view what,
          std::string_view listed_by, Session& session) {
  std::vector<KindReference> wanted;
  std::vector<std::string> known;
  for (const KindReference& kind : kinds) {
    known.push_back(kind.info.kind);
    if (arguments.name.empty() || kind.info.kind == arguments.name) wanted.push_back(kind);
  }
  if (wanted.empty()) throw_unknown(what, arguments.name, known, listed_by);
  if (arguments.json) {
    session.out.write(kinds_json(wanted));
  } else if (arguments.name.empty()) {
    session.out.write(kinds_text(wanted));
  } else {
    // A loss and a metric may share their name.
    for (const KindReference& kind : wanted)
      session.out.write(cat(&kind == &wanted.front() ? "" : "\n", kind_page(kind)));
  }
  return kExitDone;
}

std::vector<std::string> top_level_keys() {
  std::vector<std::string> out;
  for (const OptionInfo& key : describe_config()) out.push_back(key.name);
  return out;
}

std::vector<std::string> kind_names(const std::vector<KindReference>& kinds) {
  std::vector<std::string> out;
  for (const KindReference& kind : kinds) out.push_back(kind.info.kind);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

int run_ops(const Arguments& arguments, Session& session) {
  return print(describe_ops(Catalog::builtin()), arguments, "input op", "trainer ops", session);
}

int run_layers(const Arguments& arguments, Session& session) {
  return print(describe_layers(Catalog::builtin()), arguments, "layer, loss, metric, optimizer or schedule",
               "trainer layers", session);
}

int run_config(const Arguments& arguments, Session& session) {
  if (arguments.example) {
    session.out.write(example_config());
    return kExitDone;
  }
  const Catalog catalog = Catalog::builtin();
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
  if (wanted.empty()) throw_unknown("key", arguments.name, known, "trainer config");
  session.out.write(arguments.json ? keys_json(wanted) : keys_text(wanted));
  return kExitDone;
}

int run_schema(Session& session) {
  session.out.write(config_schema(Catalog::builtin()));
  return kExitDone;
}

int run_completion(const Arguments& arguments, Session& session) {
  const Catalog catalog = Catalog::builtin();
  const std::map<std::string, std::vector<std::string>> names = {{"OP", kind_names(describe_ops(catalog))},
                                                                 {"KIND", kind_names(describe_layers(catalog))},
                                                                 {"KEY", top_level_keys()}};
  session.out.write(completion_script(arguments.shell, describe_commands(), [&](const std::string& value) {
    const auto found = names.find(value);
    return found == names.end() ? std::vector<std::string>() : found->second;
  }));
  return kExitDone;
}

}  // namespace millrace::cli
