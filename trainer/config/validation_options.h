// The configuration's key `validation`: the rows by which a model is judged, on which it is never trained; how often;
// and what follows from the result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/core/options.h"
#include "millrace/trainer/step/scores.h"

namespace millrace {

enum class BestMode : uint8_t { automatic, min, max };
template <>
struct EnumNames<BestMode> {
  static constexpr std::pair<std::string_view, BestMode> kNames[] = {
      {"auto", BestMode::automatic}, {"min", BestMode::min}, {"max", BestMode::max}};
};

// `{metric: NAME, mode: auto}`, only the name, true for the loss, or false for none.
struct MILLRACE_EXPORT KeepBestOptions {
  std::string metric = "loss";
  BestMode mode = BestMode::automatic;
  bool wanted = true;

  void declare(OptionReader& o);
};

MILLRACE_DECLARE_OPTION_TYPE(KeepBestOptions);

// Paths and patterns: a list, or a map with a list for each field. Both may have one instead of a list of one.
struct MILLRACE_EXPORT DataFiles {
  Spec files;
};

MILLRACE_DECLARE_OPTION_TYPE(DataFiles);

struct MILLRACE_EXPORT ValidationOptions {
  // One of these three is set, and is read in pass mode (pass_input.h): `input` is a list of ops, as written; `files`
  // are read by the training's own list instead of its files; `held_out` are the rows that this list holds out.
  Spec input;
  std::optional<DataFiles> files;
  bool held_out = false;
  int64_t every = 1000;
  std::optional<KeepBestOptions> keep_best;
  std::optional<int64_t> patience;

  void declare(OptionReader& o);

  // The metric that decides which validation is the best: keep_best's, else the loss.
  std::string watched() const { return keep_best ? keep_best->metric : "loss"; }
  // Whether a larger value of it is better: as keep_best says; `auto` asks the metric, and a smaller loss is better.
  bool more_is_better() const;

  bool watches_less = true;  // Metric::less_is_better() of watched(); read_validation() sets it for more_is_better()
};

// `metrics` are the configuration's; `resolved` receives every option. Throws ConfigError.
MILLRACE_EXPORT ValidationOptions read_validation(const Spec& node, const std::vector<NamedMetric>& metrics,
                                                  Spec& resolved);

}  // namespace millrace
