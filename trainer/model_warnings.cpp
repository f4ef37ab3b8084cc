#include "millrace/trainer/model_warnings.h"

#include "millrace/core/text.h"
#include "millrace/trainer/overrides.h"

namespace millrace {

std::vector<std::string> model_warnings(const Spec& resolved) {
  const Spec *model = resolved.find("model"), *loss = resolved.find("loss");
  if (model == nullptr || loss == nullptr || model->items().empty()) return {};
  const KindAndOptions last = kind_and_options(model->items().back(), "a layer");
  const Spec* activation = std::as_const(last.options).find("activation");
  const std::string function = activation != nullptr ? activation->as_string() : last.kind;
  const std::string kind = kind_and_options(*loss, "a loss").kind;
  if (kind != function + "_cross_entropy") return {};
  return {cat("the model ends in ", function, ", but ", kind, " takes what comes before it and applies ", function,
              " itself: leave it out")};
}

}  // namespace millrace
