#include "millrace/trainer/validation.h"

#include <algorithm>
#include <iterator>

#include "millrace/core/text.h"
#include "millrace/trainer/config_nodes.h"

namespace millrace {

namespace {

// The kind of a metric by its name: "mse" of "mse_2".
std::string_view kind_of(std::string_view name) {
  const size_t end = name.find_last_not_of("0123456789");
  const bool numbered = end != name.npos && end > 0 && end + 1 < name.size() && name[end] == '_';
  return numbered ? name.substr(0, end) : name;
}

}  // namespace

void KeepBestOptions::declare(OptionReader& o) {
  o.optional("metric", metric, "loss, or the name of a metric: what decides which model is the best");
  o.optional("mode", mode, "whether less or more of it is better; auto goes by its name");
}

void ValidationOptions::declare(OptionReader& o) {
  o.optional("files", files, "files with the rows, read by the training's own ops: once each time, in order");
  o.optional("input", input, "instead of files: ops that give the rows; also read once each time, in order");
  o.optional("every", every, {.min = 1}, "steps from one validation to the next");
  o.optional("keep_best", keep_best, "keep the parameters of the best validation, not the last ones");
  o.optional("patience", patience, {.min = 1}, "validations in a row without improvement that end the training");
  o.may_be("input", {list_of_kinds("input op")});
}

bool ValidationOptions::more_is_better() const {
  const BestMode mode = keep_best ? keep_best->mode : BestMode::automatic;
  if (mode != BestMode::automatic) return mode == BestMode::max;
  static constexpr std::string_view kLessIsBetter[] = {"loss", "mse", "rmse", "mae"};
  const std::string name = watched();
  return std::find(std::begin(kLessIsBetter), std::end(kLessIsBetter), kind_of(name)) == std::end(kLessIsBetter);
}

ValidationOptions read_validation(const Spec& node, const std::vector<std::string>& metrics, Spec& resolved) {
  const auto options = read_options<ValidationOptions>(node, &resolved);
  if (options.input.is_null() == !options.files) {
    throw node.error("expected either files or input", "for example validation: {files: \"held-out/*.csv\"}");
  }
  if (!options.files && options.input.items().empty())
    throw options.input.error("expected at least one item, got an empty list");
  const std::string watched = options.watched();
  if (watched == "loss" || std::find(metrics.begin(), metrics.end(), watched) != metrics.end()) return options;
  std::vector<std::string> known = {"loss"};
  known.insert(known.end(), metrics.begin(), metrics.end());
  const std::string near = nearest(watched, known);
  throw node.find("keep_best")
      ->find("metric")
      ->error(cat("there is no metric ", quote(watched)),
              near.empty() ? cat("there is ", join(known), "; others are named under metrics")
                           : cat("did you mean ", near, "?"));
}

}  // namespace millrace
