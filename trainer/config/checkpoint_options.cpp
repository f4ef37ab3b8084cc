#include "millrace/trainer/config/checkpoint_options.h"

#include "millrace/core/text.h"
#include "millrace/input/graph/pipeline.h"

namespace millrace {

void CheckpointOptions::declare(OptionReader& o) {
  const Range times{.min = 0, .max = 1e6, .above_min = true};
  o.required("dir", dir, "the folder of the checkpoints; it is made if it is missing");
  o.stands_alone("dir");
  o.optional("every", every, {.min = 1}, "steps from one checkpoint to the next");
  o.optional(
      "minutes", minutes, times,
      "minutes from one checkpoint to the next; with every, too, whichever comes first; absent: 10, unless every "
      "is set");
  o.optional("keep", keep, {.min = 1}, "how many checkpoints stay: the newest");
}

CheckpointOptions OptionType<CheckpointOptions>::read(const Spec& spec) {
  CheckpointOptions out;
  if (spec.is_map()) {
    out = read_options<CheckpointOptions>(spec);
  } else {
    out.dir = spec.as_string();
  }
  if (out.dir.empty()) {
    const Spec* const dir = spec.find("dir");
    throw(dir != nullptr ? *dir : spec).error("expected the path of a folder, got an empty text");
  }
  if (!out.every && !out.minutes) out.minutes = CheckpointOptions::kMinutes;
  return out;
}

Spec OptionType<CheckpointOptions>::write(const CheckpointOptions& value) { return write_options(value); }

std::string OptionType<CheckpointOptions>::type() { return "folder or {dir, every, minutes, keep}"; }

std::vector<OptionForm> OptionType<CheckpointOptions>::forms() {
  return {{.is = OptionForm::Is::text},
          {.is = OptionForm::Is::options, .options = describe_options<CheckpointOptions>()}};
}

void check_checkpoint(const Spec& node, const InputGraph& input, const DeliveryOptions& delivery) {
  if (const std::string once = input.once_source(); !once.empty()) {
    throw node.error(cat("the rows of ", once, " come only once, so no training can go on with them from a checkpoint"),
                     "write them to files first, or leave checkpoint out");
  }
  if (delivery.kind == DeliveryKind::constant) {
    throw node.error("delivery constant trains on one batch, for measuring: that is nothing to go on with",
                     "leave checkpoint out, or choose another delivery");
  }
}

}  // namespace millrace
