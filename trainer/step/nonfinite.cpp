#include "millrace/trainer/step/nonfinite.h"

#include <cmath>
#include <optional>

#include "millrace/core/text.h"
#include "millrace/input/ops/shared/fields.h"

namespace millrace {

namespace {

// Squares and products of larger values soon become too large for a float.
constexpr double kLarge = 1e6;

// The worst value of a row, which may explain the failure. A value that is not finite is worse than a large one.
struct Suspect {
  std::string name;  // "features[3]"
  double value = 0;
  std::string number;  // the value as it is written in its own type
};

std::optional<Suspect> suspect_of(const RowBlock& batch, int64_t row, std::span<const std::string> fields) {
  std::optional<Suspect> worst;
  for (const std::string& name : fields) {
    const int index = batch.spec().find(name);
    if (index < 0) continue;
    const auto at = static_cast<size_t>(index);
    const FieldSpec& field = batch.spec().fields[at];
    with_number_type(field.dtype, [&](auto type) {
      const auto* const values = batch.row<decltype(type)>(at, row);
      const int64_t columns = field.shape.elements();
      for (int64_t i = 0; i < columns; ++i) {
        const auto value = static_cast<double>(values[i]);
        if (std::abs(value) <= kLarge) continue;
        if (worst && (!std::isfinite(worst->value) || std::isfinite(value))) continue;
        // The sign of a NaN has no meaning, so it is not shown.
        worst = {columns == 1 ? name : cat(name, '[', i, ']'), value, std::isnan(value) ? "nan" : cat(values[i])};
      }
    });
  }
  return worst;
}

// "the loss is nan".
std::string text_of(const NonfiniteArgs& args) {
  if (!std::isfinite(args.loss)) return cat("the loss is ", std::isnan(args.loss) ? "nan" : cat(args.loss));
  if (args.optimizer) return "the optimizer's state is not finite";
  return args.state.empty() ? "the gradient or its square is not finite"
                            : cat("the state ", args.state, " is not finite");
}

// The hint if no row looks like the cause.
std::string hint_of(const NonfiniteArgs& args) {
  if (args.optimizer) return "some parameters may never change again: normalize large values, or set train.clip_norm";
  return args.state.empty() ? "lower the learning rate or set train.clip_norm"
                            : "normalize the values that this layer reads, or lower the learning rate";
}

}  // namespace

DataError nonfinite_error(const NonfiniteArgs& args) {
  std::string message = cat("step ", args.step, ": ", text_of(args));
  // Values that are not finite explain more than large ones do: if there are any, the message is only about them.
  std::optional<Suspect> first;
  int64_t first_row = 0, rows = 0;
  for (int64_t row = 0; args.batch != nullptr && row < args.batch->size(); ++row) {
    const std::optional<Suspect> suspect = suspect_of(*args.batch, row, args.fields);
    if (!suspect) continue;
    const bool worse = !std::isfinite(suspect->value) && (!first || std::isfinite(first->value));
    if (!first || worse) {
      first = suspect;
      first_row = row;
      rows = 1;
    } else if (std::isfinite(suspect->value) == std::isfinite(first->value)) {
      ++rows;
    }
  }
  if (!first) {
    std::string hint = hint_of(args);
    if (args.batch != nullptr) hint += "; no row of the batch holds a value beyond 1e6";
    return DataError(message, {}, hint);
  }
  Place place;
  if (args.place) place = args.place(args.batch->id(first_row));
  message += cat("; ", first->name, " of this row is ", first->number);
  if (rows > 1)
    message +=
        cat(", and ", count_of(rows - 1, "more row"), " of the batch ", rows > 2 ? "hold" : "holds", " such values");
  return DataError(message, place,
                   std::isfinite(first->value)
                       ? "normalize values of this size, or lower the learning rate"
                       : "leave such rows out: decode_csv: {allow_nonfinite: false, on_bad_row: skip}");
}

}  // namespace millrace
