#include "millrace/core/sizes.h"

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

[[noreturn]] void throw_too_large(size_t a, const char* operation, size_t b) {
  throw ShapeError(cat(a, operation, b, " bytes are more than memory can hold"));
}

}  // namespace

size_t add_bytes(size_t a, size_t b) {
  size_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw_too_large(a, " + ", b);
  return sum;
}

size_t multiply_bytes(size_t a, size_t b) {
  size_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw_too_large(a, " * ", b);
  return product;
}

}  // namespace millrace
