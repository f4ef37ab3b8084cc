// The configuration's key `validation`: rows that are never trained on, when they are looked at, and what follows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/core/options.h"
#include "millrace/trainer/step/named_metric.h"

namespace millrace {

enum class BestMode : uint8_t { automatic, min, max };
template <>
struct EnumNames<BestMode> {
  static constexpr std::pair<std::string_view, BestMode> kNames[] = {
      {"auto", BestMode::automatic}, {"min", BestMode::min}, {"max", BestMode::max}};
};

// `{metric: NAME, mode: auto}`, the name alone, or true for the loss and false for none.
struct MILLRACE_EXPORT KeepBestOptions {
  std::string metric = "loss";
  BestMode mode = BestMode::automatic;
  bool wanted = true;

  void declare(OptionReader& o);
};

template <>
struct OptionType<KeepBestOptions> {
  static KeepBestOptions read(const Spec& spec);
  static Spec write(const KeepBestOptions& value);
  static std::string type() { return "true|false, a metric, or {metric, mode}"; }
  static std::vector<OptionForm> forms();
};

struct MILLRACE_EXPORT ValidationOptions {
  // One of the three, read in pass mode (pass_input.h): a list of ops, as written; what the training's own list reads
  // instead of its files; or the rows that it holds out.
  Spec input;
  std::optional<std::vector<std::string>> files;
  bool held_out = false;
  int64_t every = 1000;
  std::optional<KeepBestOptions> keep_best;
  std::optional<int64_t> patience;

  void declare(OptionReader& o);

  // What decides which validation is the best: that of keep_best, else the loss.
  std::string watched() const { return keep_best ? keep_best->metric : "loss"; }
  // Whether more of it is better: as keep_best says; auto asks the metric, and less of the loss is better.
  bool more_is_better() const;

  bool watches_less = true;  // what Metric::less_is_better() says of it: for more_is_better(), set by read_validation()
};

// `metrics` are the configuration's; `resolved` receives every option. Throws ConfigError.
MILLRACE_EXPORT ValidationOptions read_validation(const Spec& node, const std::vector<NamedMetric>& metrics,
                                                  Spec& resolved);

}  // namespace millrace
