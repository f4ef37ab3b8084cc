#include "millrace/cli/arguments/configuration.h"

#include <utility>

#include "millrace/cli/process/exit_code.h"
#include "millrace/core/text.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/files/files_in_use.h"
#include "millrace/trainer/files/yaml.h"

namespace millrace::cli {

void PluginArguments::declare(Command& c) {
  c.texts("--plugin", plugins, "FILE", "add the kinds of the plug-in FILE; may be repeated");
}

void KeyArguments::declare(Command& c) {
  const auto read = [this](const std::string& setting) {
    if (setting.find('=') == setting.npos || setting.front() == '=') {
      throw UsageError(cat("--set ", quote(setting), ": expected PATH=VALUE"), {}, "for example --set train.steps=5");
    }
    overrides.push_back(setting);
  };
  c.add("--set", "PATH=VALUE", "set a key of the configuration; may be repeated", read).repeats = true;
  PluginArguments::declare(c);
}

void ConfigArguments::declare(Command& c) {
  c.text("FILE", file_, "FILE", "the configuration, instead of --config");
  c.heading("INPUT");
  c.text("--config", config, "FILE", "the configuration, a YAML file");
  KeyArguments::declare(c);
}

void ConfigArguments::check(const Command& c) {
  if (!file_.empty() && !config.empty()) {
    throw UsageError(cat("unexpected argument ", quote(file_)), {}, "the configuration is given by --config already");
  }
  if (config.empty()) config = file_;
  if (config.empty()) throw UsageError("no configuration is given", {}, c.line() + " --config FILE");
}

void ModelArguments::declare(Command& c) {
  c.heading("INPUT");
  c.text("--model", model, "FILE", "the model, as a training saved it, or a checkpoint");
  c.flag("--best", best,
         "the model of the best validation before a checkpoint was written, instead of the one of its last step");
  c.texts("--data", data, "GLOB",
          "the files to read, a path or a pattern; may be repeated; FIELD=GLOB if each field has files of its own");
  c.texts("DATA", more_data_, "DATA", "more files to read, as a shell makes them of a pattern without quotes");
  KeyArguments::declare(c);
}

void ModelArguments::check(const Command& c) {
  const std::string usage = c.line() + " --model FILE --data GLOB";
  if (model.empty()) throw UsageError("no model is given", {}, usage);
  data.insert(data.end(), more_data_.begin(), more_data_.end());
  if (data.empty() && !held_out) throw UsageError("no data are given", {}, usage);
}

Spec read_configuration(const ConfigArguments& arguments, const Catalog& catalog,
                        const std::function<Spec(const Spec& config)>& heeded) {
  Spec config = read_yaml_file(arguments.config);
  apply_overrides(config, arguments.overrides, catalog,
                  {.of = heeded, .hint = "leave it out: this command does not heed it"});
  return config;
}

Spec with_save(Spec config, const std::string& save) {
  if (save.empty() || !config.is_map()) return config;
  const Place place = {cat("--save ", save)};
  Spec file = Spec::scalar(save, true, place);
  file.set_key_place(place);
  Spec* const before = config.find("save");
  if (before != nullptr && before->is_map()) {
    before->set("file", std::move(file));
  } else {
    config.set("save", std::move(file));
  }
  return config;
}

void refuse_dash(std::string_view option, const std::string& path) {
  if (path == "-") throw UsageError(cat(option, " - names no file"), {}, "./- is a file of that name");
}

void check_out(std::string_view option, const std::string& path, const InputFiles& files, const std::string& source) {
  const std::string loss = path.empty() ? std::string() : would_overwrite(path, files, source);
  if (!loss.empty()) throw UsageError(cat(option, ' ', quote(path, 4096), ' ', loss), {}, "give it another name");
}

Catalog read_catalog(const PluginArguments& arguments) {
  Catalog catalog = Catalog::builtin();
  for (const std::string& plugin : arguments.plugins) load_plugin(plugin, catalog);
  return catalog;
}

}  // namespace millrace::cli
