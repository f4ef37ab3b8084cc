#include "millrace/layers/model/initialize.h"

#include <cmath>

#include "millrace/core/parallel.h"
#include "millrace/core/random.h"
#include "millrace/layers/dispatch.h"

namespace millrace {

namespace {

template <class T>
struct Constant {
  T value;
  T* out;
  void operator()(int64_t i) const { out[i] = value; }
};

template <class T>
struct GlorotUniform {
  uint64_t seed, stream;
  double limit;
  T* out;
  void operator()(int64_t i) const {
    const double unit = to_unit(philox64(seed, stream, static_cast<uint64_t>(i)));
    out[i] = static_cast<T>((2.0 * unit - 1.0) * limit);
  }
};

template <class T>
void fill(Context& host, std::string_view name, const Initializer& initializer, uint64_t seed, T* out, int64_t count) {
  switch (initializer.kind) {
    case Initializer::Kind::zeros: for_each_index(host, count, Constant<T>{T(0), out}); return;
    case Initializer::Kind::ones: for_each_index(host, count, Constant<T>{T(1), out}); return;
    case Initializer::Kind::glorot_uniform: {
      const double limit = std::sqrt(6.0 / static_cast<double>(initializer.fan_in + initializer.fan_out));
      for_each_index(host, count, GlorotUniform<T>{seed, fnv1a64(name), limit, out});
      return;
    }
  }
}

}  // namespace

void initialize(Context& context, std::string_view name, const Initializer& initializer, uint64_t seed,
                TensorView values) {
  // Always computed on the host, so that a model begins alike on every device.
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
