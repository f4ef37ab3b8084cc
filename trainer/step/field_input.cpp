#include "millrace/trainer/step/field_input.h"

#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "millrace/core/errors.h"
#include "millrace/core/sizes.h"
#include "millrace/core/text.h"
#include "millrace/input/ops/shared/fields.h"

namespace millrace {

namespace {

// The value as To, or nothing when To is an integer type that cannot hold it.
template <class To, class From>
std::optional<To> exactly(From value) {
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    const double wide = static_cast<double>(value);
    // Both bounds are exact doubles: -2^31 or -2^63, and one above the largest value.
    const double low = static_cast<double>(std::numeric_limits<To>::min());
    if (!(wide >= low && wide < -low) || wide != std::floor(wide)) return std::nullopt;
  } else if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    if (!std::in_range<To>(value)) return std::nullopt;
  }
  return static_cast<To>(value);
}

// The first value that cannot be used: its row, how it reads, and why.
struct Misfit {
  int64_t row = -1;  // -1: there is none
  std::string text;
  bool outside = false;  // of the range; else To cannot hold it
};

bool lies_in(const ValueRange& range, double value) {
  return std::isfinite(value) && value >= range.min && value <= range.max;
}

// Checks every value as To, up to the first misfit, and stores it in `to` unless that is null.
template <class To, class From>
Misfit take_rows(ConstTensorView from, const std::optional<ValueRange>& range, TensorView to) {
  for (int64_t row = 0; row < from.rows(); ++row) {
    const From* source = from.as<From>() + row * from.stride();
    To* target = to ? to.as<To>() + row * to.stride() : nullptr;
    for (int64_t column = 0; column < from.columns(); ++column) {
      const std::optional<To> value = exactly<To>(source[column]);
      if (!value) return {row, cat(source[column])};
      if (range && !lies_in(*range, static_cast<double>(*value))) return {row, cat(source[column]), true};
      if (target != nullptr) target[column] = *value;
    }
  }
  return {};
}

std::string text_of(const ValueRange& range) {
  if (!std::isfinite(range.min)) return "a finite number";
  if (!std::isfinite(range.max)) return cat("at least ", range.min);
  return cat("at least ", range.min, " and at most ", range.max);
}

}  // namespace

FieldInput::FieldInput(const FieldInputArgs& args) : name_(args.field.name), range_(args.range) {
  const size_t row_bytes = aligned_bytes(size_of(args.dtype) * static_cast<size_t>(args.field.shape.elements()));
  shape_ = TensorView(nullptr, args.dtype, args.field.shape.with_batch(args.rows), row_bytes);
  const size_t bytes = multiply_bytes(row_bytes, static_cast<size_t>(args.rows));
  const bool copies = args.keeps && args.device.is_cpu();
  if (args.dtype != args.field.dtype || copies) converted_ = Memory::pinned(args.device, bytes);
  if (!args.device.is_cpu()) device_ = Memory(args.device, bytes);
}

ConstTensorView FieldInput::load(Context& context, ConstTensorView batch, bool pinned) {
  error_row_ = -1;
  if (converted_ || range_) take(batch);
  const void* const host = converted_ ? converted_.data() : batch.data();
  if (device_ && (converted_ || pinned)) {
    context.copy_async(device_.data(), host, device_.bytes());
  } else if (device_) {
    context.copy(device_.data(), host, device_.bytes());
  }
  return ConstTensorView(device_ ? device_.data() : host, shape_.dtype(), shape_.shape(), shape_.row_bytes());
}

void FieldInput::take(ConstTensorView from) {
  const TensorView to(converted_.data(), shape_.dtype(), shape_.shape(), shape_.row_bytes());
  Misfit misfit;
  with_number_type(from.dtype(), [&](auto source) {
    with_number_type(to.dtype(),
                     [&](auto target) { misfit = take_rows<decltype(target), decltype(source)>(from, range_, to); });
  });
  if (misfit.row < 0) return;
  error_row_ = misfit.row;
  const std::string found = cat("the field ", name_, " holds ", misfit.text, ", expected ");
  if (misfit.outside) throw DataError(found + text_of(*range_), {}, std::string(range_->hint));
  throw DataError(cat(found, "a whole number of type ", to_string(to.dtype())), {},
                  "class labels and ids are whole numbers");
}

}  // namespace millrace
