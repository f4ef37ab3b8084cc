// Tensors: DType, Shape, TensorSpec (what a value looks like), TensorView / ConstTensorView (where it is), Tensor (owns
// it); Destination (where a gradient goes) and dispatch_float() (the C++ type of a dtype).
//
// Row-major. Only the first axis may have a stride of its own, so that rows can be padded to 64 bytes.
// Views never own and are passed by value; a Tensor is move-only and frees its memory. None of them is synchronised.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "millrace/core/context.h"
#include "millrace/core/export.h"

namespace millrace {

enum class DType : uint8_t { f32, f64, i32, i64, u8 };

// These throw InternalError for a number that is no DType, which code of others may pass.
MILLRACE_EXPORT size_t size_of(DType dtype);
// "float32", "int64", ...: the names that configurations use.
MILLRACE_EXPORT std::string_view to_string(DType dtype);
// Whether the values are whole numbers.
constexpr bool is_integer(DType dtype) { return dtype == DType::i32 || dtype == DType::i64 || dtype == DType::u8; }

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> : std::integral_constant<DType, DType::f32> {};
template <>
struct DTypeOf<double> : std::integral_constant<DType, DType::f64> {};
template <>
struct DTypeOf<int32_t> : std::integral_constant<DType, DType::i32> {};
template <>
struct DTypeOf<int64_t> : std::integral_constant<DType, DType::i64> {};
template <>
struct DTypeOf<uint8_t> : std::integral_constant<DType, DType::u8> {};

// Up to six dimensions, held in place: copying a shape never allocates. The constructor throws ShapeError for more
// than six, for a negative one, and if the dimensions other than 0 multiply to more than 2^59. So the elements and
// bytes of a shape and of its parts can always be counted.
class MILLRACE_EXPORT Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims);
  explicit Shape(std::span<const int64_t> dims);

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return dims_[static_cast<size_t>(axis)]; }
  // Product of all dimensions; 1 for rank 0.
  int64_t elements() const;
  // This shape with one more axis in front.
  Shape with_batch(int64_t batch) const;
  // This shape without its first axis. REQUIRES: rank() > 0.
  Shape row() const;
  // "(256, 1024)".
  std::string text() const;
  bool operator==(const Shape&) const = default;

 private:
  void check() const;

  std::array<int64_t, kMaxRank> dims_{};  // 0 from rank_ on
  int rank_ = 0;
};

struct MILLRACE_EXPORT TensorSpec {
  Shape shape;
  DType dtype = DType::f32;

  size_t bytes() const { return static_cast<size_t>(shape.elements()) * size_of(dtype); }
  std::string text() const;  // "float32 (1024)"
  bool operator==(const TensorSpec&) const = default;
};

// Rows of batches and activations begin at multiples of this many bytes.
inline constexpr size_t kRowAlignment = 64;
// `bytes` rounded up to a multiple of kRowAlignment.
constexpr size_t aligned_bytes(size_t bytes) {
  return (bytes / kRowAlignment + (bytes % kRowAlignment != 0 ? 1 : 0)) * kRowAlignment;
}

// A view of memory that somebody else owns. `Void` is void or const void.
template <class Void>
class BasicTensorView {
 public:
  BasicTensorView() = default;
  // `row_bytes` is the distance between neighbours on the first axis; 0 means contiguous.
  BasicTensorView(Void* data, DType dtype, const Shape& shape, size_t row_bytes = 0)
      : data_(data),
        shape_(shape),
        row_bytes_(row_bytes != 0 ? row_bytes : dense_row_bytes(dtype, shape)),
        dtype_(dtype) {}
  // A mutable view is also a const one.
  template <class Other>
    requires(std::is_const_v<Void> && !std::is_const_v<Other>)
  BasicTensorView(const BasicTensorView<Other>& other)  // NOLINT(google-explicit-constructor)
      : data_(other.data()), shape_(other.shape()), row_bytes_(other.row_bytes()), dtype_(other.dtype()) {}

  explicit operator bool() const { return data_ != nullptr; }
  Void* data() const { return data_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  size_t row_bytes() const { return row_bytes_; }
  // Elements between neighbours on the first axis.
  int64_t stride() const { return static_cast<int64_t>(row_bytes_ / size_of(dtype_)); }
  int64_t rows() const { return shape_.rank() == 0 ? 1 : shape_[0]; }
  // Elements of one row.
  int64_t columns() const { return shape_.rank() == 0 ? 1 : shape_.row().elements(); }
  int64_t elements() const { return shape_.elements(); }
  // Bytes of all rows with their padding. Throws ShapeError if that is more than can be counted.
  MILLRACE_EXPORT size_t bytes() const;
  bool contiguous() const { return row_bytes_ == dense_row_bytes(dtype_, shape_); }
  TensorSpec spec() const { return {shape_, dtype_}; }

  // The elements as T. REQUIRES: T is the type of dtype().
  template <class T>
  auto* as() const {
    using Out = std::conditional_t<std::is_const_v<Void>, const T, T>;
    return static_cast<Out*>(data_);
  }

  // The same view of other memory, at `data`.
  BasicTensorView<void> at(void* data) const { return {data, dtype_, shape_, row_bytes_}; }
  BasicTensorView<const void> at(const void* data) const { return {data, dtype_, shape_, row_bytes_}; }

  // The first `rows` rows.
  BasicTensorView first_rows(int64_t rows) const {
    return BasicTensorView(data_, dtype_, shape_.row().with_batch(rows), row_bytes_);
  }

 private:
  static size_t dense_row_bytes(DType dtype, const Shape& shape) {
    return size_of(dtype) * static_cast<size_t>(shape.rank() == 0 ? 1 : shape.row().elements());
  }

  Void* data_ = nullptr;
  Shape shape_;
  size_t row_bytes_ = 0;
  DType dtype_ = DType::f32;
};

using TensorView = BasicTensorView<void>;
using ConstTensorView = BasicTensorView<const void>;

// Owns its memory on a device. Contiguous unless made with padded rows.
class MILLRACE_EXPORT Tensor {
 public:
  enum class Rows { contiguous, padded };

  Tensor() = default;
  // Zero-filled memory. Throws DeviceError if there is not enough.
  Tensor(Device device, const TensorSpec& spec, Rows rows = Rows::contiguous);

  TensorView view() { return TensorView(memory_.data(), spec_.dtype, spec_.shape, row_bytes_); }
  ConstTensorView view() const { return ConstTensorView(memory_.data(), spec_.dtype, spec_.shape, row_bytes_); }
  const TensorSpec& spec() const { return spec_; }
  Device device() const { return memory_.device(); }

 private:
  TensorSpec spec_;
  size_t row_bytes_ = 0;
  Memory memory_;
};

// Where a gradient goes: view = beta * view + alpha * gradient. A null view means that nobody needs the
// gradient. `alpha` is read when the step runs, in the device's memory; null is 1.
struct Destination {
  TensorView view = {};
  float beta = 0;  // 0 or 1, fixed when the step is planned
  const float* alpha = nullptr;

  explicit operator bool() const { return static_cast<bool>(view); }
};

// Out of line, because every kernel passes through dispatch_float().
[[noreturn]] MILLRACE_EXPORT void throw_no_kernel(DType dtype);

// Calls a generic host lambda with the C++ type of a floating-point dtype.
//
//   dispatch_float(x.dtype(), [&]<class T>() { for_each_index(context, n, Relu<T>{x.as<T>(), y.as<T>()}); });
//
// The lambda runs on the host. It launches named functors, so the same file compiles as C++ and as CUDA.
// REQUIRES: dtype is f32 or f64; layers check that when they are built. Throws InternalError otherwise.
template <class F>
void dispatch_float(DType dtype, F&& call) {
  switch (dtype) {
    case DType::f32: call.template operator()<float>(); return;
    case DType::f64: call.template operator()<double>(); return;
    default: throw_no_kernel(dtype);
  }
}

}  // namespace millrace
