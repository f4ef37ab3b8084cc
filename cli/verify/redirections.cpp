#include "millrace/cli/verify/redirections.h"

#include <algorithm>

#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/input/graph/graph_list.h"
#include "millrace/trainer/config/config.h"

namespace millrace::cli {

namespace {

// Steps between reports of a window: several, so that checkpoints come within it.
constexpr int64_t kWindow = 3;
// More would fill disks.
constexpr int64_t kMostReports = 100000;

// Whether the map of options at the top-level key `key` knows `option`.
bool knows(std::string_view key, std::string_view option) {
  for (const OptionInfo& info : describe_config()) {
    for (const OptionForm& form : info.forms) {
      if (info.name == key && std::ranges::find(form.options, option, &OptionInfo::name) != form.options.end()) {
        return true;
      }
    }
  }
  return false;
}

const Spec* find(const Spec& config, std::string_view key, std::string_view option) {
  const Spec* node = config.find(key);
  return node != nullptr && node->is_map() ? node->find(option) : nullptr;
}

int64_t steps_of_a_report(const Spec& config) {
  const Spec *over = find(config, "train", "report_over"), *steps = find(config, "train", "steps");
  const int64_t least = over != nullptr && over->as_string() == "window" ? kWindow : 1;
  return std::max(least, steps != nullptr ? steps->as_int() / kMostReports : 0);
}

// The files that ops of the list at `path` write, if the configuration has any.
void redirect_ops(const Spec& list, const std::string& path, const Catalog& catalog, const std::string& folder,
                  Redirections& out) {
  Spec resolved;
  const std::vector<GraphNode> nodes = read_graph_list(list, catalog.ops, resolved);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const OptionInfo* file = option_of(nodes[i], OptionUse::written_file);
    const Spec& options = resolved.items()[i].entries().front().second;
    if (file == nullptr || options.find(file->name) == nullptr) continue;
    out.line_files.push_back(cat(path, '-', i, '-', file->name, ".jsonl"));
    out.settings.push_back(text_setting(cat(path, '[', i, "].", file->name), cat(folder, '/', out.line_files.back())));
  }
}

}  // namespace

std::string text_setting(std::string_view key, std::string_view text) { return cat(key, '=', json_string(text)); }

Redirections redirected_to(const std::string& folder, const Spec& config, const Catalog& catalog,
                           std::optional<int64_t> every) {
  Redirections out;
  // With the state of the optimizer, so that it is compared, too.
  out.settings.push_back(cat("save={file: ", json_string(cat(folder, '/', kModelName)), ", optimizer: true}"));
  out.settings.push_back(every ? cat("checkpoint={dir: ", json_string(cat(folder, '/', kCheckpointsName)),
                                     ", every: ", *every, ", keep: 2}")
                               : std::string("checkpoint=null"));
  if (knows("log", "json")) {
    out.line_files.emplace_back("log.jsonl");
    out.settings.push_back(cat("log={json: ", json_string(cat(folder, "/log.jsonl")), '}'));
  }
  out.settings.push_back(cat("train.log_every=", steps_of_a_report(config)));
  redirect_ops(*config.find("input"), "input", catalog, folder, out);
  if (const Spec* list = find(config, "validation", "input")) {
    redirect_ops(*list, "validation.input", catalog, folder, out);
  }
  return out;
}

}  // namespace millrace::cli
