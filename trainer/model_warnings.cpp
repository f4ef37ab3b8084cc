#include "millrace/trainer/model_warnings.h"

#include <algorithm>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/core/wildcard.h"
#include "millrace/trainer/overrides.h"

namespace millrace {

namespace {

void warn_of_loss(const Spec& resolved, std::vector<std::string>& warnings) {
  const Spec *model = resolved.find("model"), *loss = resolved.find("loss");
  if (model == nullptr || loss == nullptr || model->items().empty()) return;
  const KindAndOptions last = kind_and_options(model->items().back(), "a layer");
  const Spec* activation = std::as_const(last.options).find("activation");
  const std::string function = activation != nullptr ? activation->as_string() : last.kind;
  const std::string kind = kind_and_options(*loss, "a loss").kind;
  if (kind != function + "_cross_entropy") return;
  warnings.push_back(cat("the model ends in ", function, ", but ", kind, " takes what comes before it and applies ",
                         function, " itself: leave it out"));
}

// A pattern with a typo would let every parameter decay.
void warn_of_patterns(const Spec& resolved, std::span<const Parameter> parameters, std::vector<std::string>& warnings) {
  const Spec* optimizer = resolved.find("optimizer");
  if (optimizer == nullptr) return;
  const KindAndOptions wanted = kind_and_options(*optimizer, "an optimizer");
  const Spec* patterns = std::as_const(wanted.options).find("no_decay");
  if (patterns == nullptr || !patterns->is_list()) return;
  for (const Spec& item : patterns->items()) {
    const std::string& pattern = item.as_string();
    const auto matches = [&](const Parameter& parameter) { return wildcard_matches(pattern, parameter.name); };
    if (std::any_of(parameters.begin(), parameters.end(), matches)) continue;
    std::vector<std::string> names;
    for (const Parameter& parameter : parameters) names.push_back(parameter.name);
    const std::string near = nearest(pattern, names);
    warnings.push_back(cat(wanted.kind, ": no parameter is called as no_decay ", quote(pattern), " says",
                           near.empty() ? std::string() : cat("; there is ", near)));
  }
}

}  // namespace

std::vector<std::string> model_warnings(const Spec& resolved, std::span<const Parameter> parameters) {
  std::vector<std::string> warnings;
  warn_of_loss(resolved, warnings);
  warn_of_patterns(resolved, parameters, warnings);
  return warnings;
}

}  // namespace millrace
