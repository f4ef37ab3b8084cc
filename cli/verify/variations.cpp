#include "millrace/cli/verify/variations.h"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/text.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/delivery/delivery_options.h"
#include "millrace/trainer/input/build_input.h"
#include "millrace/trainer/input/op_list.h"

namespace millrace::cli {

namespace {

// Threads beyond the number of processors, so that they have to take turns.
constexpr int kMoreThreads = 2;

bool is_speed(const ListedOp& op, OptionUse use) {
  const OptionInfo* info = option_of(op.node, use);
  return info != nullptr && info->only_speed;
}

// Whether the input can be built with this setting.
bool is_allowed(const Spec& config, const Catalog& catalog, const std::string& setting) {
  try {
    Spec changed = config;
    apply_override(changed, setting, catalog);
    build_input({.list = *changed.find("input"), .registry = catalog.ops});
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

// The deliveries that train on every batch.
std::vector<std::pair<std::string, DeliveryKind>> deliveries() {
  std::vector<std::pair<std::string, DeliveryKind>> out;
  for (const auto& [name, kind] : EnumNames<DeliveryKind>::kNames) {
    if (kind != DeliveryKind::automatic && kind != DeliveryKind::constant) out.emplace_back(name, kind);
  }
  return out;
}

}  // namespace

std::string Variation::text() const {
  std::string out;
  for (const std::string& setting : settings) out += cat(out.empty() ? "" : " ", setting);
  return out;
}

Variations::Variations(const Spec& config, const Catalog& catalog, int available_threads)
    : most_threads_(std::min(available_threads + kMoreThreads, Executor::kMostThreads)) {
  size_t i = 0;
  for_each_op(config, catalog.ops, [&](const ListedOp& op) {
    const size_t position = i++;
    const auto add = [&](OptionUse use, std::initializer_list<int64_t> values) {
      if (!is_speed(op, use)) return;
      knobs_.push_back({cat("input[", position, "].", option_of(op.node, use)->name), values});
    };
    const int64_t kept = op.number(OptionUse::always_waiting).value_or(0);
    const int64_t batch = op.number(OptionUse::batch_rows).value_or(1);
    add(OptionUse::tasks, {1, 2, most_threads_});
    add(OptionUse::waiting, {kept + batch, kept + 2 * batch, kept + 9 * batch + 1});
    add(OptionUse::chunk_bytes, {1000, 16384, 262144, 1048576});
  });
  for (Knob& knob : knobs_) {
    std::erase_if(knob.values, [&](int64_t value) { return !is_allowed(config, catalog, cat(knob.key, '=', value)); });
  }
  std::erase_if(knobs_, [](const Knob& knob) { return knob.values.empty(); });
}

Variation Variations::draw(Draws& draws) const {
  Variation out;
  out.threads = 1 + static_cast<int>(draws.below(static_cast<uint64_t>(most_threads_)));
  static const auto kDeliveries = deliveries();
  const auto& [name, kind] = draws.of(kDeliveries);
  out.delivery = name;
  out.settings.push_back(cat("threads=", out.threads));
  const bool has_queue = DeliveryOptions{.kind = kind}.has_queue();
  out.settings.push_back(has_queue ? cat("delivery={kind: ", out.delivery, ", capacity: ", 1 + draws.below(6), '}')
                                   : cat("delivery=", out.delivery));
  for (const Knob& knob : knobs_) out.settings.push_back(cat(knob.key, '=', draws.of(knob.values)));
  return out;
}

}  // namespace millrace::cli
