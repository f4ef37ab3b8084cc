#include "millrace/trainer/input/build_input.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/registry.h"
#include "millrace/core/text.h"
#include "millrace/input/files/matched_files.h"
#include "millrace/input/graph/graph_list.h"
#include "millrace/trainer/files/files_in_use.h"
#include "millrace/trainer/input/workers.h"

namespace millrace {

namespace {

bool matches(const std::string& pattern) {
  try {
    FileSystem& files = FileSystem::local();
    if (files.type(pattern) != FileSystem::Type::folder) match_files({&pattern, 1}, {}, files);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The first pattern of the list that matches nothing, with the configuration's folder, if it matches there; else empty.
std::string beside_configuration(const InputListArgs& args) {
  const std::filesystem::path folder = std::filesystem::path(args.config_file).parent_path();
  if (folder.empty()) return {};
  Spec resolved;
  const std::vector<GraphNode> nodes = read_graph_list(args.list, args.registry, resolved);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const OptionInfo* files = option_of(nodes[i], OptionUse::files);
    const Spec* patterns = files == nullptr ? nullptr : resolved.items()[i].entries().front().second.find(files->name);
    if (patterns == nullptr) continue;
    for (const std::string& pattern : listed_files(*patterns)) {
      if (matches(pattern)) continue;
      // An absolute pattern stays as it is, and matches nothing again.
      std::string there = (folder / pattern).string();
      return matches(there) ? there : std::string();
    }
  }
  return {};
}

void check_written_files(const InputListArgs& args, const InputGraph& graph) {
  InputFiles files = graph.files();
  for (const std::string& path : std::exchange(files.written, {})) {
    const std::string loss = would_overwrite(path, files, args.config_file);
    if (!loss.empty()) throw args.list.error(cat("writing ", quote(path, 4096), ' ', loss), "give it another name");
    files.written.push_back(path);
  }
}

}  // namespace

InputGraph build_input(const Config& config, const Catalog& catalog) {
  return build_input(config, catalog, workers_of(config));
}

InputGraph build_input(const Config& config, const Catalog& catalog, std::shared_ptr<Workers> workers) {
  return build_input({.list = config.input,
                      .registry = catalog.ops,
                      .seed = config.seed,
                      .config_file = config.written.place().file,
                      .workers = std::move(workers)});
}

std::shared_ptr<Workers> workers_of(const Config& config) {
  if (!config.workers) return nullptr;
#ifdef MILLRACE_WITHOUT_WORKERS
  throw config.node("workers").error(left_out_text("workers", "workers"), left_out_hint("workers"));
#else
  return make_workers(*config.workers);
#endif
}

InputGraph build_input(const InputListArgs& args) {
  try {
    InputGraph graph = InputGraph::build(
        args.list, args.registry,
        {.seed = args.seed, .side = args.side, .bad_rows_stay = args.bad_rows_stay, .workers = args.workers});
    check_written_files(args, graph);
    return graph;
  } catch (const MissingError& error) {
    if (args.workers != nullptr && args.workers->files() == nullptr) {
      throw ConfigError(error.message(), error.place(),
                        "with workers.fallback: local the files are needed here, too; wait and fail read the workers'");
    }
    const std::string there = beside_configuration(args);
    if (there.empty()) throw;
    throw MissingError(
        error.message(), error.place(),
        cat("paths are relative to the current folder, and ", quote(there, 4096), " exists: run it from there"));
  }
}

}  // namespace millrace
