#include "millrace/layers/model/initialize.h"

#include <algorithm>

#include "millrace/core/parallel.h"
#include "millrace/core/random.h"

namespace millrace {

namespace {

template <class T>
struct Uniform {
  uint64_t seed, stream;
  double bound;
  T* out;
  void operator()(int64_t i) const {
    const double unit = to_unit(philox64(seed, stream, static_cast<uint64_t>(i)));
    out[i] = static_cast<T>((2.0 * unit - 1.0) * bound);
  }
};

template <class T>
struct Normal {
  uint64_t seed, stream;
  double deviation;
  T* out;
  void operator()(int64_t i) const {
    out[i] = static_cast<T>(deviation * normal_pair(philox(seed, stream, static_cast<uint64_t>(i)))[0]);
  }
};

template <class T>
void fill(Context& host, std::string_view name, const Initializer& initializer, uint64_t seed, T* out, int64_t count) {
  const double value = initializer.value;
  const uint64_t stream = fnv1a64(name);
  switch (initializer.kind) {
    case Initializer::Kind::constant: std::fill_n(out, count, static_cast<T>(value)); return;
    case Initializer::Kind::uniform: for_each_index(host, count, Uniform<T>{seed, stream, value, out}); return;
    case Initializer::Kind::normal: for_each_index(host, count, Normal<T>{seed, stream, value, out}); return;
  }
}

}  // namespace

void initialize(Context& context, std::string_view name, const Initializer& initializer, uint64_t seed,
                TensorView values) {
  // The host computes them, so that a model begins with the same values on every device.
  Context host(Device::cpu(), context.executor());
  const size_t bytes = static_cast<size_t>(values.elements()) * size_of(values.dtype());
  const bool here = context.device().is_cpu();
  Memory copy;
  if (!here) copy = Memory(Device::cpu(), bytes);
  context.executor().run([&] {
    dispatch_float(values.dtype(), [&]<class T>() {
      fill(host, name, initializer, seed, here ? values.as<T>() : static_cast<T*>(copy.data()), values.elements());
    });
  });
  if (here) return;
  context.copy(values.data(), copy.data(), bytes);
}

}  // namespace millrace
