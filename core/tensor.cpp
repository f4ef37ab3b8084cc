#include "millrace/core/tensor.h"

#include <algorithm>

#include "millrace/core/errors.h"
#include "millrace/core/sizes.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

// The index of `dtype` in a table that has the order of DType.
size_t index_of(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  if (index > static_cast<size_t>(DType::u8)) throw InternalError(cat("there is no DType of the number ", index));
  return index;
}

}  // namespace

size_t size_of(DType dtype) {
  constexpr size_t kSizes[] = {4, 8, 4, 8, 1};
  return kSizes[index_of(dtype)];
}

std::string_view to_string(DType dtype) {
  constexpr std::string_view kNames[] = {"float32", "float64", "int32", "int64", "uint8"};
  return kNames[index_of(dtype)];
}

Shape::Shape(std::initializer_list<int64_t> dims) : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const int64_t> dims) : rank_(static_cast<int>(dims.size())) {
  if (dims.size() > kMaxRank) throw ShapeError(cat("a shape has at most ", kMaxRank, " dimensions, got ", dims.size()));
  std::copy(dims.begin(), dims.end(), dims_.begin());
  check();
}

void Shape::check() const {
  constexpr int64_t kMostElements = int64_t{1} << 59;
  int64_t count = 1;
  bool large = false;
  for (int i = 0; i < rank_; ++i) {
    if ((*this)[i] < 0) throw ShapeError(cat("a dimension cannot be negative, got ", text()));
    if ((*this)[i] == 0) continue;
    large = large || __builtin_mul_overflow(count, (*this)[i], &count) || count > kMostElements;
  }
  if (large) throw ShapeError(cat("the shape ", text(), " has too many elements"));
}

int64_t Shape::elements() const {
  int64_t count = 1;
  for (int i = 0; i < rank_; ++i) count *= dims_[static_cast<size_t>(i)];
  return count;
}

Shape Shape::with_batch(int64_t batch) const {
  if (rank_ == kMaxRank) throw ShapeError(cat("a shape has at most ", kMaxRank, " dimensions with the batch"));
  Shape out;
  out.rank_ = rank_ + 1;
  out.dims_[0] = batch;
  std::copy_n(dims_.begin(), rank_, out.dims_.begin() + 1);
  out.check();
  return out;
}

Shape Shape::row() const {
  Shape out;
  out.rank_ = rank_ - 1;
  std::copy_n(dims_.begin() + 1, rank_ - 1, out.dims_.begin());
  return out;
}

std::string Shape::text() const {
  std::string out = "(";
  for (int i = 0; i < rank_; ++i) out += cat(i > 0 ? ", " : "", (*this)[i]);
  return out + ")";
}

std::string TensorSpec::text() const { return cat(to_string(dtype), ' ', shape.text()); }

template <class Void>
size_t BasicTensorView<Void>::bytes() const {
  return multiply_bytes(row_bytes_, static_cast<size_t>(rows()));
}
template size_t BasicTensorView<void>::bytes() const;
template size_t BasicTensorView<const void>::bytes() const;

Tensor::Tensor(Device device, const TensorSpec& spec, Rows rows)
    : spec_(spec), row_bytes_(TensorView(nullptr, spec.dtype, spec.shape).row_bytes()) {
  if (rows == Rows::padded) row_bytes_ = aligned_bytes(row_bytes_);
  memory_ = Memory(device, view().bytes());
}

void throw_no_kernel(DType dtype) { throw InternalError(cat("no kernel for ", to_string(dtype), " values")); }

}  // namespace millrace
