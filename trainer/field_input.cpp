#include "millrace/trainer/field_input.h"

#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

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

// Calls f with a value of the C++ type of `dtype`.
template <class F>
void with_type(DType dtype, const F& f) {
  switch (dtype) {
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    case DType::i32: return f(int32_t{});
    case DType::i64: return f(int64_t{});
    case DType::u8: return f(uint8_t{});
  }
}

// Returns the first row that cannot be converted, or -1.
template <class To, class From>
int64_t convert_rows(ConstTensorView from, TensorView to) {
  for (int64_t row = 0; row < from.rows(); ++row) {
    const From* source = from.as<From>() + row * from.stride();
    To* target = to.as<To>() + row * to.stride();
    for (int64_t column = 0; column < from.columns(); ++column) {
      const std::optional<To> value = exactly<To>(source[column]);
      if (!value) return row;
      target[column] = *value;
    }
  }
  return -1;
}

}  // namespace

FieldInput::FieldInput(Device device, const FieldSpec& field, DType dtype, int64_t rows) : name_(field.name) {
  const size_t row_bytes = aligned_bytes(size_of(dtype) * static_cast<size_t>(field.shape.elements()));
  shape_ = TensorView(nullptr, dtype, field.shape.with_batch(rows), row_bytes);
  const size_t bytes = row_bytes * static_cast<size_t>(rows);
  if (dtype != field.dtype) converted_ = device.is_cpu() ? Memory(device, bytes) : Memory::pinned(bytes);
  if (!device.is_cpu()) device_ = Memory(device, bytes);
}

ConstTensorView FieldInput::load(Context& context, ConstTensorView batch) {
  error_row_ = -1;
  const void* host = batch.data();
  if (converted_) {
    convert(batch);
    host = converted_.data();
  }
  if (device_) context.copy(device_.data(), host, device_.bytes());
  return ConstTensorView(device_ ? device_.data() : host, shape_.dtype(), shape_.shape(), shape_.row_bytes());
}

void FieldInput::convert(ConstTensorView from) {
  const TensorView to(converted_.data(), shape_.dtype(), shape_.shape(), shape_.row_bytes());
  with_type(from.dtype(), [&](auto source) {
    with_type(to.dtype(),
              [&](auto target) { error_row_ = convert_rows<decltype(target), decltype(source)>(from, to); });
  });
  if (error_row_ >= 0) {
    throw DataError(cat("the field ", name_, " holds a value that is no whole number of type ", to_string(to.dtype())),
                    {}, "class labels are whole numbers");
  }
}

}  // namespace millrace
