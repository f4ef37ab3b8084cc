#include "millrace/layers/gradients/gradient_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "millrace/core/kernels/reduce.h"
#include "millrace/core/parallel.h"
#include "millrace/core/sizes.h"

namespace millrace {
namespace {

// The numbers of an update, in the device's memory.
struct Numbers {
  double weight;       // of all rows of the batches so far
  double given;        // the sum of squares of the block's values
  double square;       // the same sum after clip_value
  float batch_weight;  // of the rows of the newest batch
  float scale;
  double shrink;  // the block is multiplied by it before `scale`; 1 unless the whole factor is too small
};

template <class T>
struct CountBatch {
  const T* loss;
  Numbers* numbers;
  bool first;
  MILLRACE_HD void operator()(int64_t) const {
    numbers->batch_weight = static_cast<float>(loss[1]);
    numbers->weight = (first ? 0.0 : numbers->weight) + static_cast<double>(numbers->batch_weight);
  }
};

// The block holds the gradient or, if batches are accumulated, the sum of weight times gradient.
template <class T>
struct LimitValues {
  T* gradient;
  const Numbers* numbers;
  double limit;
  bool weighted;
  MILLRACE_HD void operator()(int64_t i) const {
    const T bound = static_cast<T>(weighted ? limit * numbers->weight : limit);
    const T value = gradient[i];
    // Both comparisons are false for a NaN, so it stays.
    gradient[i] = value > bound ? bound : (value < -bound ? -bound : value);
  }
};

struct Scale {
  Numbers* numbers;
  double clip_norm;  // 0: no limit
  bool weighted;
  MILLRACE_HD void operator()(int64_t) const {
    double scale = 1;
    if (weighted) scale = numbers->weight > 0 ? 1 / numbers->weight : 0;
    if (clip_norm > 0) {
      const double norm = std::sqrt(numbers->square) * scale;
      if (norm > clip_norm) scale *= clip_norm / norm;
    }
    // A smaller factor may be 0 as a float, or have few digits.
    constexpr double kLeast = 1e-30;
    numbers->shrink = clip_norm > 0 && scale > 0 && scale < kLeast ? scale / kLeast : 1;
    numbers->scale = static_cast<float>(scale / numbers->shrink);
  }
};

// A row of the kernel is a run of values, so that it costs little if nothing must shrink.
constexpr int64_t kRun = 1024;

template <class T>
struct Shrink {
  T* gradient;
  const Numbers* numbers;
  int64_t count;
  MILLRACE_HD void operator()(int64_t row) const {
    const double shrink = numbers->shrink;
    if (shrink == 1) return;
    const int64_t begin = row * kRun, end = begin + kRun < count ? begin + kRun : count;
    for (int64_t i = begin; i < end; ++i) gradient[i] = static_cast<T>(static_cast<double>(gradient[i]) * shrink);
  }
};

}  // namespace

GradientRules::GradientRules(const GradientOptions& options, Device device, const TensorSpec& block)
    : options_(options) {
  if (!options.any()) return;
  numbers_ = Memory(device, sizeof(Numbers));
  if (options.clip_norm || options.check_finite) scratch_ = Memory(device, sum_scratch(block.shape.elements()));
}

const float* GradientRules::begin_batch(Context& context, const void* loss, const TensorView& gradients) const {
  if (options_.accumulate == 1) return nullptr;
  const bool first = gathered_ == 0;
  auto* const numbers = static_cast<Numbers*>(numbers_.data());
  if (first) context.fill_zero(gradients.data(), gradients.spec().bytes());
  dispatch_float(gradients.dtype(), [&]<class T>() {
    for_each_index(context, 1, CountBatch<T>{static_cast<const T*>(loss), numbers, first});
  });
  return &numbers->batch_weight;
}

const float* GradientRules::finish(Context& context, const TensorView& gradients) const {
  if (!options_.any()) return nullptr;
  auto* const numbers = static_cast<Numbers*>(numbers_.data());
  const bool weighted = options_.accumulate > 1;
  if (options_.check_finite) square_sum(context, gradients, &numbers->given, scratch_.data());
  if (options_.clip_value) {
    dispatch_float(gradients.dtype(), [&]<class T>() {
      for_each_index(context, gradients.elements(),
                     LimitValues<T>{gradients.as<T>(), numbers, *options_.clip_value, weighted});
    });
  }
  if (options_.clip_norm) square_sum(context, gradients, &numbers->square, scratch_.data());
  if (!weighted && !options_.clip_norm) return nullptr;
  for_each_index(context, 1, Scale{numbers, options_.clip_norm.value_or(0), weighted});
  if (options_.clip_norm) {
    dispatch_float(gradients.dtype(), [&]<class T>() {
      const int64_t count = gradients.elements();
      for_each_row(context, ceil_div(count, kRun), kRun, Shrink<T>{gradients.as<T>(), numbers, count});
    });
  }
  return &numbers->scale;
}

bool GradientRules::finite(Context& context) const {
  Numbers found{};
  context.copy(&found, numbers_.data(), sizeof found);
  context.synchronize();
  if (!std::isfinite(found.given) || !options_.check_squares) return std::isfinite(found.given);
  double norm = std::sqrt(found.given);
  if (options_.accumulate > 1) norm = found.weight > 0 ? norm / found.weight : 0;
  const double most = std::min({norm, options_.clip_value.value_or(norm), options_.clip_norm.value_or(norm)});
  return most * most <= static_cast<double>(std::numeric_limits<float>::max());
}

void GradientRules::save(Context& context, State& state) const {
  state.set("gathered", static_cast<uint64_t>(gathered_));
  if (gathered_ == 0) return;
  double weight = 0;
  context.copy(&weight, &static_cast<const Numbers*>(numbers_.data())->weight, sizeof weight);
  context.synchronize();
  state.set_real("weight", weight);
}

void GradientRules::restore(Context& context, const State& state) {
  const auto gathered = state.count<int64_t>("gathered", options_.accumulate - 1);
  if (gathered > 0) {
    const double weight = state.real("weight");
    context.copy(&static_cast<Numbers*>(numbers_.data())->weight, &weight, sizeof weight);
    context.synchronize();
  }
  gathered_ = gathered;
}

}  // namespace millrace
