#include "millrace/trainer/config/compare_options.h"

#include "millrace/core/text.h"

namespace millrace {

void CompareItem::declare(OptionReader& o) {
  delivery.declare(o);
  o.optional("batch_size", batch_size, {.min = 1}, "rows in its batches; absent: as the configuration says");
  o.optional("name", name, "its name; by default its kind");
  o.optional("workers", workers, "whether two workers, which compare starts on this machine, decode its rows");
}

CompareItem OptionType<CompareItem>::read(const Spec& spec) {
  if (spec.is_map()) return read_options<CompareItem>(spec);
  return {.delivery = OptionType<DeliveryOptions>::read(spec), .batch_size = {}, .name = {}, .workers = false};
}

Spec OptionType<CompareItem>::write(const CompareItem& value) {
  if (!value.batch_size && value.name.empty() && !value.workers)
    return OptionType<DeliveryOptions>::write(value.delivery);
  return write_options(value);
}

std::string OptionType<CompareItem>::type() { return OptionType<DeliveryOptions>::type(); }

std::vector<OptionForm> OptionType<CompareItem>::forms() {
  std::vector<OptionForm> out = option_forms<DeliveryKind>();
  out.push_back({.is = OptionForm::Is::options, .options = describe_options<CompareItem>()});
  return out;
}

CompareOptions::CompareOptions() {
  for (const DeliveryKind kind :
       {DeliveryKind::feed, DeliveryKind::queue, DeliveryKind::staging, DeliveryKind::native, DeliveryKind::constant}) {
    deliveries.push_back({.delivery = {.kind = kind}, .batch_size = {}, .name = {}, .workers = false});
  }
}

void CompareOptions::declare(OptionReader& o) {
  o.optional("deliveries", deliveries, "the deliveries that trainer compare compares");
  o.optional("rounds", rounds, {.min = 1, .max = 1000}, "how often each of them trains");
  o.optional("warm_up", warm_up, {.min = 1}, "first steps of each training, which are not timed");
  o.may_be("deliveries", {{.is = OptionForm::Is::list, .items = option_forms<CompareItem>(), .not_empty = true}});
  if (!o.reading()) return;
  if (deliveries.empty()) throw o.node("deliveries").error("expected at least one delivery, got an empty list");
}

}  // namespace millrace
