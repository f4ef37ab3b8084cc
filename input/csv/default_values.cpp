#include "millrace/input/csv/default_values.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/csv/number_parser.h"

namespace millrace {

namespace {

template <class T>
T default_number(const Spec& spec, bool allow_nonfinite) {
  T value{};
  NumberStatus status = parse_number(spec.as_string(), value);
  if constexpr (std::is_floating_point_v<T>) {
    // YAML's own spelling of what is no number: .inf, -.inf, .nan.
    if (status != NumberStatus::ok && !spec.quoted() && spec.as_string().find('.') != std::string::npos) {
      value = static_cast<T>(spec.as_double());
      status = NumberStatus::ok;
    }
    if (status == NumberStatus::ok && !allow_nonfinite && !std::isfinite(value)) {
      throw spec.error(cat("the default ", spec.as_string(), " is not finite"), "set allow_nonfinite: true");
    }
  }
  if (status != NumberStatus::ok) {
    throw spec.error(cat("expected a default of type ", to_string(DTypeOf<T>::value), ", got ", spec.describe()));
  }
  return value;
}

// A double may also be NaN, which is no time.
template <class T>
T default_time(const Spec& spec, const TimeFormat& time, bool allow_nonfinite) {
  Moment moment;
  const std::string& text = spec.as_string();
  if (time.parse(text, moment)) return moment.as<T>();
  const bool is_nan = same_text(text, "nan") || same_text(text, ".nan");
  if (std::is_floating_point_v<T> && is_nan) return default_number<T>(spec, allow_nonfinite);
  throw spec.error(cat("expected a default of type ", time.name(), ", got ", spec.describe()), time.hint(text));
}

}  // namespace

DefaultValues read_default_values(const DefaultValuesArgs& args) {
  const Spec& spec = args.spec;
  const FieldSpec& field = args.field;
  if (spec.is_null()) return {};
  DefaultValues out{.given = true};
  const size_t count = !field.ragged() ? args.columns : spec.is_list() ? spec.size() : 1;
  if (spec.is_list() && spec.size() != count) {
    throw spec.error(cat("expected one default, or one for each of the ", args.columns, " columns, got ", spec.size()));
  }
  const size_t size = size_of(field.dtype);
  out.numbers.resize(field.text ? 0 : count * size);
  for (size_t i = 0; i < count; ++i) {
    const Spec& value = spec.is_list() ? spec.items()[i] : spec;
    if (field.text) {
      out.texts.push_back(value.as_string());
      continue;
    }
    with_parsed_type(field.dtype, [&, one = out.numbers.data() + i * size](auto number) {
      using T = decltype(number);
      number = args.time != nullptr ? default_time<T>(value, *args.time, args.allow_nonfinite)
                                    : default_number<T>(value, args.allow_nonfinite);
      std::memcpy(one, &number, sizeof number);
    });
  }
  return out;
}

}  // namespace millrace
