// Arguments that several commands take: a configuration and its changes, a saved model, plug-ins.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/cli/arguments/command.h"
#include "millrace/core/spec.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/config/catalog.h"

namespace millrace::cli {

struct PluginArguments {
  std::vector<std::string> plugins;

  void declare(Command& c);
};

struct KeyArguments : PluginArguments {
  std::vector<std::string> overrides;

  void declare(Command& c);
};

struct ConfigArguments : KeyArguments {
  std::string config;

  void declare(Command& c);
  void check(const Command& c);

 private:
  std::string file_;  // the configuration without --config
};

struct ModelArguments : KeyArguments {
  std::string model;
  std::vector<std::string> data;
  bool best = false;      // use the best model of a checkpoint
  bool held_out = false;  // use the rows that the training held out; then no data need be named

  void declare(Command& c);
  void check(const Command& c);

 private:
  std::vector<std::string> more_data_;  // without --data
};

// The file of --config, changed by --set; `catalog` has the kinds that it may name. `heeded` returns the part that the
// command heeds, see Heeded in overrides.h. Throws MissingError, ConfigError.
Spec read_configuration(const ConfigArguments& arguments, const Catalog& catalog,
                        const std::function<Spec(const Spec& config)>& heeded = {});

// The configuration as --save changes it: unless it is empty, `save` becomes the file that the key `save` names.
Spec with_save(Spec config, const std::string& save);

// Throws UsageError if `path` is -, which other options take as standard output.
void refuse_dash(std::string_view option, const std::string& path);

// Throws UsageError if `path` is `source` (the configuration or the model), or a file that the input graph reads or
// writes; its message begins with `option`. An empty path passes.
void check_out(std::string_view option, const std::string& path, const InputFiles& files, const std::string& source);

// The built-in kinds and those of --plugin. Throws as load_plugin().
Catalog read_catalog(const PluginArguments& arguments);

}  // namespace millrace::cli
