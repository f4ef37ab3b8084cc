#include "millrace/trainer/model_warnings.h"

#include <algorithm>
#include <string_view>
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

// What the predictions are that a loss makes or a metric judges: logits of classes, or numbers. Of other kinds than
// these nothing is known.
constexpr std::string_view kOfClasses[] = {
    "sigmoid_cross_entropy", "softmax_cross_entropy", "hinge", "accuracy", "auc", "f1", "precision", "recall", "top_k"};
constexpr std::string_view kOfNumbers[] = {"mse", "mae", "huber", "rmse", "r2"};

bool is_one_of(const std::string& kind, std::span<const std::string_view> kinds) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

void warn_of_metrics(const Spec& resolved, std::vector<std::string>& warnings) {
  const Spec *loss = resolved.find("loss"), *metrics = resolved.find("metrics");
  if (loss == nullptr || metrics == nullptr || !metrics->is_list()) return;
  const std::string trained = kind_and_options(*loss, "a loss").kind;
  std::vector<std::string> of_classes, of_numbers;
  for (const Spec& item : metrics->items()) {
    const std::string kind = kind_and_options(item, "a metric").kind;
    if (is_one_of(kind, kOfClasses)) of_classes.push_back(kind);
    if (is_one_of(kind, kOfNumbers)) of_numbers.push_back(kind);
  }
  if (is_one_of(trained, kOfNumbers) && !of_classes.empty()) {
    warnings.push_back(cat("metrics: the predictions are numbers under the loss ", trained, ", and ", join(of_classes),
                           " would take them for logits of classes: r2, rmse or mae tell how near they are"));
  }
  if (is_one_of(trained, kOfClasses) && !of_numbers.empty()) {
    warnings.push_back(cat("metrics: the predictions are logits under the loss ", trained, ", and ", join(of_numbers),
                           " would compare them with the labels: accuracy or auc tell how often they are right"));
  }
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
  warn_of_metrics(resolved, warnings);
  warn_of_patterns(resolved, parameters, warnings);
  return warnings;
}

}  // namespace millrace
