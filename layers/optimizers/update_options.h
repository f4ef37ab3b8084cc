// UpdateOptions: the options that every optimizer has, declared once: its rate, the schedule of that, and weight decay.
//
//   struct Options : UpdateOptions {
//     Options() { learning_rate = 0.01; }
//     void declare(OptionReader& o) { UpdateOptions::declare(o); .. }
//   };
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/options.h"
#include "millrace/core/wildcard.h"
#include "millrace/layers/schedule/schedule.h"

namespace millrace {

struct UpdateOptions {
  double learning_rate = 0;  // 0: no default, so it is required
  Schedule schedule;
  double weight_decay = 0;
  std::vector<std::string> no_decay;

  void declare(OptionReader& o) {
    // Floats hold them, and what optimizers make of them: products of both, and a rate that is divided by what a
    // running mean lacks of a full one, 1e-16 or more.
    const Range rates{.min = 1e-30, .max = 1e18};
    const char* const rate_doc = "how far a step goes against the gradient";
    if (learning_rate > 0) {
      o.optional("learning_rate", learning_rate, rates, rate_doc);
    } else {
      o.required("learning_rate", learning_rate, rates, rate_doc);
    }
    o.optional("schedule", schedule, "how the rate changes from update to update");
    o.optional("weight_decay", weight_decay, {.min = 0, .max = rates.max}, "how strongly parameters are drawn to 0");
    o.optional("no_decay", no_decay, "the parameters that it spares, by name: * is any text, as in *.bias");
    o.used_as("no_decay", OptionUse::parameters);
  }

  double rate(uint64_t step) const { return learning_rate * schedule.factor(step); }
  bool decays(std::string_view parameter) const {
    return weight_decay > 0 && std::none_of(no_decay.begin(), no_decay.end(), [&](const std::string& pattern) {
             return wildcard_matches(pattern, parameter);
           });
  }
};

// An optional key for the share of a running mean that stays with each update, in [0, 1).
inline void declare_kept_share(OptionReader& o, std::string_view name, double& share, std::string_view doc) {
  o.optional(name, share, {.min = 0, .max = 1, .below_max = true}, doc);
}

// An optional key for what is added to a root before something is divided by it. Never 0, also as a float: where
// gradients have always been 0, nothing may change.
inline void declare_epsilon(OptionReader& o, double& epsilon) {
  o.optional("epsilon", epsilon, {.min = 1e-30, .max = 1e30}, "added to the root that the gradient is divided by");
}

}  // namespace millrace
