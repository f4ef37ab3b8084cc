#include "millrace/cli/arguments/configuration.h"

#include <utility>

#include "millrace/core/text.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/files/yaml.h"

namespace millrace::cli {

Spec read_configuration(const Arguments& arguments) {
  Spec config = read_yaml_file(arguments.config);
  apply_overrides(config, arguments.overrides);
  if (!arguments.save.empty() && config.is_map()) {
    const Place place = {cat("--save ", arguments.save)};
    Spec save = Spec::scalar(arguments.save, true, place);
    save.set_key_place(place);
    Spec* const before = config.find("save");
    if (before != nullptr && before->is_map()) {
      before->set("file", std::move(save));
    } else {
      config.set("save", std::move(save));
    }
  }
  return config;
}

Catalog read_catalog(const Arguments& arguments) {
  Catalog catalog = Catalog::builtin();
  for (const std::string& plugin : arguments.plugins) load_plugin(plugin, catalog);
  return catalog;
}

}  // namespace millrace::cli
