#include "millrace/trainer/config/model_warnings.h"

#include <algorithm>

#include "millrace/core/text.h"

namespace millrace {

namespace {

// The value of the kind's key whose use is `use`; nullptr if there is none. `item`: the kind with all its options.
template <class Base>
const Spec* value_of(const Registry<Base>& kinds, const KindAndOptions& item, OptionUse use) {
  for (const OptionInfo& info : kinds.options_of(item.kind, item.options)) {
    if (info.use == use) return item.options.find(info.name);
  }
  return nullptr;
}

void warn_of_loss(const Config& config, const LayerCatalog& kinds, std::vector<std::string>& warnings) {
  const Spec* model = config.resolved.find("model");
  if (model == nullptr || model->items().empty() || config.loss.loss == nullptr) return;
  const KindAndOptions last = kinds.layers.read(model->items().back(), "a layer");
  const Spec* activation = value_of(kinds.layers, last, OptionUse::activation);
  const std::string function = activation != nullptr ? activation->as_string() : last.kind;
  if (function != to_probabilities(attributed(*config.loss.loss, &Loss::predictions))) return;
  warnings.push_back(cat("the model ends in ", function, ", but ", config.loss.kind,
                         " takes what comes before it and applies ", function, " itself: leave it out"));
}

// A hint with the kinds of metrics that take logits (else numbers), need no options, and fit the model and its label.
std::string metrics_of(const MetricRegistry& metrics, bool logits, const ModelFacts& facts) {
  std::vector<std::string> out;
  for (const auto& [kind, entry] : metrics.entries()) {
    try {
      const Spec no_options = Spec::map(Place{});
      const auto metric = metrics.make({kind, no_options}, no_options);
      const Predictions taken = attributed(*metric, &Metric::predictions);
      if (logits ? !are_logits(taken) : taken != Predictions::numbers) continue;
      attributed(*metric, [&] { metric->check(facts.prediction, facts.label); });
      out.push_back(kind);
    } catch (const Error&) {
      continue;
    }
  }
  if (out.empty()) return "leave them out";
  return cat(join(out, " or "), logits ? " tell how often they are right" : " tell how near they are");
}

void warn_of_metrics(const Config& config, const LayerCatalog& kinds, const ModelFacts& facts,
                     std::vector<std::string>& warnings) {
  if (config.loss.loss == nullptr) return;
  const Predictions trained = attributed(*config.loss.loss, &Loss::predictions);
  std::vector<std::string> of_logits, of_numbers;
  for (const NamedMetric& one : config.metrics) {
    const Predictions taken = attributed(*one.metric, &Metric::predictions);
    if (are_logits(taken)) of_logits.push_back(one.name);
    if (taken == Predictions::numbers) of_numbers.push_back(one.name);
  }
  if (trained == Predictions::numbers && !of_logits.empty()) {
    warnings.push_back(cat("metrics: the predictions are numbers under the loss ", config.loss.kind, ", and ",
                           join(of_logits),
                           " would take them for logits of classes: ", metrics_of(kinds.metrics, false, facts)));
  }
  if (are_logits(trained) && !of_numbers.empty()) {
    warnings.push_back(cat("metrics: the predictions are logits under the loss ", config.loss.kind, ", and ",
                           join(of_numbers),
                           " would compare them with the labels: ", metrics_of(kinds.metrics, true, facts)));
  }
}

// Warns of patterns that match nothing: because of a typo, every parameter would decay.
void warn_of_patterns(const Config& config, const LayerCatalog& kinds, std::span<const Parameter> parameters,
                      std::vector<std::string>& warnings) {
  const Spec* optimizer = config.resolved.find("optimizer");
  if (optimizer == nullptr) return;
  const KindAndOptions wanted = kinds.optimizers.read(*optimizer, "an optimizer");
  const Spec* patterns = value_of(kinds.optimizers, wanted, OptionUse::parameters);
  if (patterns == nullptr || !patterns->is_list()) return;
  for (const Spec& item : patterns->items()) {
    const std::string& pattern = item.as_string();
    const auto matches = [&](const Parameter& parameter) { return wildcard_matches(pattern, parameter.name); };
    if (std::any_of(parameters.begin(), parameters.end(), matches)) continue;
    std::vector<std::string> names;
    for (const Parameter& parameter : parameters) names.push_back(parameter.name);
    const std::string near = nearest(pattern, names);
    warnings.push_back(cat(patterns->path(), ": no parameter has a name that matches ", quote(pattern),
                           near.empty() ? std::string() : cat("; there is ", near)));
  }
}

}  // namespace

std::vector<std::string> model_warnings(const Config& config, const LayerCatalog& kinds, const ModelFacts& facts) {
  std::vector<std::string> warnings;
  warn_of_loss(config, kinds, warnings);
  warn_of_metrics(config, kinds, facts, warnings);
  warn_of_patterns(config, kinds, facts.parameters, warnings);
  return warnings;
}

std::string warning_of_unread_fields(const InputGraph& input, const std::vector<std::string>& readers) {
  const std::vector<std::string> unread = input.unread_fields(readers);
  if (unread.empty()) return {};
  return cat("input: nothing reads the ", unread.size() == 1 ? "field " : "fields ", join(unread),
             ": leave out what is not needed, or name it where it is to be read (from, weight)");
}

}  // namespace millrace
