#include "millrace/trainer/delivery/delivery.h"

#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/delivery/kinds.h"

namespace millrace {

void DeliveryOptions::declare(OptionReader& o) {
  o.required("kind", kind, "how a batch reaches the step");
  o.stands_alone("kind");
  o.optional("capacity", capacity, {.min = 1, .max = 4096},
             "how many batches may wait, with queue and staging; absent: 5");
  o.optional("threads", threads, {.min = 1, .max = 1024},
             "how many tasks may decode for the queue at once, with queue and staging; absent: as the ops say");
  if (!o.reading() || has_queue()) return;
  const auto refuse = [&](std::string_view key, const std::optional<int64_t>& value) {
    if (value) throw o.node(key).error("only the kinds queue and staging have this key", "leave it out");
  };
  refuse("capacity", capacity);
  refuse("threads", threads);
}

DeliveryOptions OptionType<DeliveryOptions>::read(const Spec& spec) {
  if (spec.is_map()) return read_options<DeliveryOptions>(spec);
  return {.kind = OptionType<DeliveryKind>::read(spec)};
}

Spec OptionType<DeliveryOptions>::write(const DeliveryOptions& value) {
  if (!value.has_queue()) return OptionType<DeliveryKind>::write(value.kind);
  DeliveryOptions all = value;
  all.capacity = value.capacity.value_or(DeliveryOptions::kCapacity);
  return write_options(all);
}

std::string OptionType<DeliveryOptions>::type() { return OptionType<DeliveryKind>::type(); }

std::vector<OptionForm> OptionType<DeliveryOptions>::forms() {
  std::vector<OptionForm> out = option_forms<DeliveryKind>();
  out.push_back({.is = OptionForm::Is::options, .options = describe_options<DeliveryOptions>()});
  return out;
}

std::unique_ptr<Delivery> Delivery::make(const DeliveryOptions& options, InputGraph graph, DeliveryArgs args) {
  switch (options.kind) {
    case DeliveryKind::automatic:
    case DeliveryKind::native: return make_native(std::move(graph), std::move(args));
    case DeliveryKind::staging:
    case DeliveryKind::queue: return make_queue(options, std::move(graph), std::move(args));
    case DeliveryKind::feed: return make_feed(std::move(graph), std::move(args));
    case DeliveryKind::constant: return make_constant(std::move(graph), std::move(args));
  }
  throw InternalError("unknown delivery");
}

}  // namespace millrace
