#include "millrace/core/text.h"
#include "millrace/layers/schedule/schedule.h"
#include "millrace/trainer/catalog.h"
#include "millrace/trainer/cli/commands.h"
#include "millrace/trainer/cli/exit_code.h"
#include "millrace/trainer/cli/reference.h"
#include "millrace/trainer/cli/usage_error.h"

namespace millrace::cli {

namespace {

template <class Base>
void add(std::vector<KindReference>& out, std::string_view sort, const Registry<Base>& registry) {
  for (const auto& [kind, entry] : registry.entries()) {
    out.push_back({std::string(sort), kind, entry.doc, entry.describe()});
  }
}

int print(const std::vector<KindReference>& kinds, const Arguments& arguments, std::string_view what,
          Session& session) {
  if (arguments.name.empty()) {
    session.out.write(reference_text(kinds));
    return kExitDone;
  }
  std::vector<KindReference> wanted;
  std::vector<std::string> known;
  for (const KindReference& kind : kinds) {
    known.push_back(kind.kind);
    if (kind.kind == arguments.name) wanted.push_back(kind);
  }
  if (wanted.empty()) {
    const std::string near = nearest(arguments.name, known);
    throw UsageError(cat("unknown ", what, ' ', quote(arguments.name)), {},
                     near.empty() ? cat("known: ", join(known)) : cat("did you mean ", near, "?"));
  }
  session.out.write(reference_text(wanted));
  return kExitDone;
}

}  // namespace

int run_ops(const Arguments& arguments, Session& session) {
  std::vector<KindReference> kinds;
  add(kinds, "input op", Catalog::builtin().ops);
  return print(kinds, arguments, "input op", session);
}

int run_layers(const Arguments& arguments, Session& session) {
  const Catalog catalog = Catalog::builtin();
  std::vector<KindReference> kinds;
  add(kinds, "layer", catalog.layers.layers);
  add(kinds, "loss", catalog.layers.losses);
  add(kinds, "metric", catalog.layers.metrics);
  add(kinds, "optimizer", catalog.layers.optimizers);
  add(kinds, "schedule", schedules());
  return print(kinds, arguments, "layer, loss, metric, optimizer or schedule", session);
}

}  // namespace millrace::cli
