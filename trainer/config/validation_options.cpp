#include "millrace/trainer/config/validation_options.h"

#include "millrace/core/text.h"
#include "millrace/trainer/config/config_nodes.h"

namespace millrace {

void KeepBestOptions::declare(OptionReader& o) {
  o.optional("metric", metric, "loss, or the name of a metric: it decides which model is the best");
  o.stands_alone("metric");
  o.optional("mode", mode, "whether less or more of it is better; auto asks the metric");
}

KeepBestOptions OptionType<KeepBestOptions>::read(const Spec& spec) {
  if (!spec.is_scalar()) return read_options<KeepBestOptions>(spec);
  KeepBestOptions out;
  out.wanted = spec.as_string() != "false";
  if (out.wanted && spec.as_string() != "true") out.metric = spec.as_string();
  return out;
}

Spec OptionType<KeepBestOptions>::write(const KeepBestOptions& value) {
  return value.wanted ? write_options(value) : OptionType<bool>::write(false);
}

std::string OptionType<KeepBestOptions>::type() { return "true|false, a metric, or {metric, mode}"; }

std::vector<OptionForm> OptionType<KeepBestOptions>::forms() {
  return {{.is = OptionForm::Is::flag},
          {.is = OptionForm::Is::text},
          {.is = OptionForm::Is::options, .options = describe_options<KeepBestOptions>()}};
}

DataFiles OptionType<DataFiles>::read(const Spec& spec) {
  using Paths = OptionType<std::vector<std::string>>;
  if (!spec.is_map()) return {Paths::write(Paths::read(spec))};
  for (const auto& [field, files] : spec.entries()) Paths::read(files);
  return {spec};
}

Spec OptionType<DataFiles>::write(const DataFiles& value) { return value.files; }

std::string OptionType<DataFiles>::type() { return OptionType<std::vector<std::string>>::type() + " or map of them"; }

std::vector<OptionForm> OptionType<DataFiles>::forms() {
  std::vector<OptionForm> out = option_forms<std::vector<std::string>>();
  out.push_back({.is = OptionForm::Is::map, .items = out});
  return out;
}

void ValidationOptions::declare(OptionReader& o) {
  o.optional(
      "files", files,
      "files with the rows, or files for each field: the training's own ops read them, once for each validation, "
      "in order");
  o.used_as("files", OptionUse::files);
  o.optional("held_out", held_out, "instead of files: the rows that hold_out keeps from the training");
  o.optional("input", input, "instead of files: ops that give the rows, also once for each validation, in order");
  o.optional("every", every, {.min = 1}, "steps from one validation to the next");
  o.optional(
      "keep_best", keep_best,
      "keep the parameters of the best validation instead of the last ones; a training that is stopped also saves "
      "the last ones, in NAME.last.safetensors next to NAME.safetensors");
  o.optional("patience", patience, {.min = 1},
             "the training ends after so many validations in a row without improvement");
  o.decides("patience", Decides::length);
  o.may_be("input", {list_of_kinds("input op")});
}

bool ValidationOptions::more_is_better() const {
  const BestMode mode = keep_best ? keep_best->mode : BestMode::automatic;
  return mode == BestMode::automatic ? !watches_less : mode == BestMode::max;
}

ValidationOptions read_validation(const Spec& node, const std::vector<NamedMetric>& metrics, Spec& resolved) {
  auto options = read_options<ValidationOptions>(node, &resolved);
  if (options.keep_best && !options.keep_best->wanted) {
    options.keep_best.reset();
    resolved.erase("keep_best");
  }
  if (!options.input.is_null() + options.files.has_value() + options.held_out != 1) {
    throw node.error("expected either files, held_out or input",
                     "for example validation: {files: \"held-out/*.csv\"}, or {held_out: true} with the op hold_out");
  }
  if (!options.input.is_null() && options.input.items().empty())
    throw options.input.error("expected at least one item, got an empty list");
  const std::string watched = options.watched();
  if (watched == "loss") return options;
  std::vector<std::string> known = {"loss"};
  for (const NamedMetric& metric : metrics) {
    if (metric.name == watched) {
      options.watches_less = attributed(*metric.metric, &Metric::less_is_better);
      return options;
    }
    known.push_back(metric.name);
  }
  const std::string near = nearest(watched, known);
  const Spec& keep_best = *node.find("keep_best");
  const Spec& named = keep_best.is_scalar() ? keep_best : *keep_best.find("metric");
  throw named.error(cat("there is no metric ", quote(watched)),
                    near.empty() ? cat("there is ", join(known), "; others are named under metrics")
                                 : cat("did you mean ", near, "?"));
}

}  // namespace millrace
