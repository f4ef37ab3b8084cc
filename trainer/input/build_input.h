// Builds the input graph of a configuration.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/config.h"

namespace millrace {

// InputGraph::build(), with one more hint: paths are relative to the current folder, and if a file is missing there but
// lies next to the configuration, the MissingError says so. And one more check: an op that would write over the
// configuration, the data or another op's file is a ConfigError.
InputGraph build_input(const Config& config, const Catalog& catalog);
// The same, with workers that have other graphs, too.
InputGraph build_input(const Config& config, const Catalog& catalog, std::shared_ptr<Workers> workers);

// The workers of the key `workers`; null without it. Throws ConfigError.
std::shared_ptr<Workers> workers_of(const Config& config);

// The same for another list of ops than the configuration's.
struct InputListArgs {
  const Spec& list;
  const OpRegistry& registry;
  uint64_t seed = 0;
  std::string config_file = {};                // missing files are looked for next to it; no op may write over it
  Side side = Side::trained;                   // which rows ops give that hold rows out
  bool bad_rows_stay = false;                  // see GraphArgs::bad_rows_stay
  std::shared_ptr<Workers> workers = nullptr;  // see GraphArgs::workers
};
InputGraph build_input(const InputListArgs& args);

}  // namespace millrace
