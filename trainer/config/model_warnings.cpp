#include "millrace/trainer/config/model_warnings.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/core/wildcard.h"
#include "millrace/trainer/config/overrides.h"

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

// Whether a text in `spec` is `name`.
bool names(const Spec& spec, const std::string& name) {
  if (spec.is_scalar()) return spec.as_string() == name;
  if (spec.is_list()) {
    return std::any_of(spec.items().begin(), spec.items().end(), [&](const Spec& item) { return names(item, name); });
  }
  return spec.is_map() && std::any_of(spec.entries().begin(), spec.entries().end(),
                                      [&](const Spec::Entry& entry) { return names(entry.second, name); });
}

}  // namespace

std::vector<std::string> model_warnings(const Spec& resolved, std::span<const Parameter> parameters) {
  std::vector<std::string> warnings;
  warn_of_loss(resolved, warnings);
  warn_of_metrics(resolved, warnings);
  warn_of_patterns(resolved, parameters, warnings);
  return warnings;
}

std::string warning_of_unread_fields(const Spec& input, const RowSpec& rows, const std::vector<std::string>& readers) {
  std::vector<std::string> decoded = {}, unread = {};
  std::vector<Spec> others;  // options of ops that make no fields of text
  for (const Spec& item : input.items()) {
    const KindAndOptions op = kind_and_options(item, "an input op");
    if (op.kind == "print") return {};  // it shows all fields
    const Spec* fields = op.options.find("fields");
    if (fields == nullptr || !fields->is_map()) {
      others.push_back(op.options);
      continue;
    }
    for (const auto& [name, field] : fields->entries()) decoded.push_back(name);
  }
  const auto among = [](const std::vector<std::string>& all, const std::string& name) {
    return std::find(all.begin(), all.end(), name) != all.end();
  };
  for (const FieldSpec& field : rows.fields) {
    const auto is_named = [&](const Spec& options) { return names(options, field.name); };
    if (!among(decoded, field.name) || among(readers, field.name)) continue;
    if (std::none_of(others.begin(), others.end(), is_named)) unread.push_back(field.name);
  }
  if (unread.empty()) return {};
  return cat("input: nothing reads the ", unread.size() == 1 ? "field " : "fields ", join(unread),
             ": leave out what is not needed, or name it where it is to be read (from, weight)");
}

}  // namespace millrace
