#include "millrace/layers/norms/group_plan.h"

#include <cmath>

#include "millrace/core/kernels/reduce.h"
#include "millrace/layers/elementwise.h"
#include "millrace/layers/for_each_row.h"

namespace millrace {
namespace {

// Where the values of a part lie: value `pixel` of channel `channel` of item `item`, all counted over the batch.
struct Places {
  int64_t items, channels, pixels, groups;
  int64_t channel_step, pixel_step;

  explicit Places(const GroupNormShape& shape)
      : items(shape.items),
        channels(shape.channels),
        pixels(shape.pixels),
        groups(shape.groups),
        channel_step(shape.channels_last ? 1 : shape.pixels),
        pixel_step(shape.channels_last ? shape.channels : 1) {}

  MILLRACE_HD int64_t column(int64_t item, int64_t channel, int64_t pixel) const {
    return item % items * channels * pixels + channel * channel_step + pixel * pixel_step;
  }
  MILLRACE_HD int64_t row(int64_t item) const { return item / items; }
  MILLRACE_HD int64_t size() const { return channels / groups; }
};

// Part i is group i % groups of item i / groups.
template <class T>
struct Normalise {
  Places places;
  const T* x;
  int64_t x_stride;
  const T* weight;
  const T* bias;
  Target<T> y;
  T* moments;  // mean and 1 / deviation of each part; null: nobody wants them
  double epsilon;

  MILLRACE_HD void operator()(int64_t i) const {
    const int64_t item = i / places.groups, first = i % places.groups * places.size(), row = places.row(item);
    const T* const from = x + row * x_stride;
    const double share = 1 / static_cast<double>(places.size() * places.pixels);
    double sum = 0, squares = 0;
    for (int64_t p = 0; p < places.pixels; ++p) {
      for (int64_t c = first; c < first + places.size(); ++c)
        sum += static_cast<double>(from[places.column(item, c, p)]);
    }
    const double mean = sum * share;
    for (int64_t p = 0; p < places.pixels; ++p) {
      for (int64_t c = first; c < first + places.size(); ++c) {
        const double distance = static_cast<double>(from[places.column(item, c, p)]) - mean;
        squares += distance * distance;
      }
    }
    const double inverse = 1 / std::sqrt(squares * share + epsilon);
    for (int64_t p = 0; p < places.pixels; ++p) {
      for (int64_t c = first; c < first + places.size(); ++c) {
        const int64_t column = places.column(item, c, p);
        const double value = (static_cast<double>(from[column]) - mean) * inverse;
        y.store(row, column, static_cast<T>(value) * weight[c] + bias[c]);
      }
    }
    if (moments == nullptr) return;
    moments[2 * i] = static_cast<T>(mean);
    moments[2 * i + 1] = static_cast<T>(inverse);
  }
};

// With n = (x - mean) / deviation and g = dy weight: dx = (g - mean(g) - n mean(g n)) / deviation.
template <class T>
struct NormaliseGradient {
  Places places;
  const T* x;
  const T* dy;
  int64_t x_stride, dy_stride;
  const T* weight;
  const T* moments;
  Target<T> dx;

  MILLRACE_HD void operator()(int64_t i) const {
    const int64_t item = i / places.groups, first = i % places.groups * places.size(), row = places.row(item);
    const T* const values = x + row * x_stride;
    const T* const slopes = dy + row * dy_stride;
    const T mean = moments[2 * i], inverse = moments[2 * i + 1];
    const double share = 1 / static_cast<double>(places.size() * places.pixels);
    double sum = 0, product = 0;
    for (int64_t p = 0; p < places.pixels; ++p) {
      for (int64_t c = first; c < first + places.size(); ++c) {
        const int64_t column = places.column(item, c, p);
        const auto slope = static_cast<double>(slopes[column] * weight[c]);
        sum += slope;
        product += slope * static_cast<double>((values[column] - mean) * inverse);
      }
    }
    const T mean_slope = static_cast<T>(sum * share), mean_product = static_cast<T>(product * share);
    for (int64_t p = 0; p < places.pixels; ++p) {
      for (int64_t c = first; c < first + places.size(); ++c) {
        const int64_t column = places.column(item, c, p);
        const T normal = (values[column] - mean) * inverse;
        dx.store(row, column, (slopes[column] * weight[c] - mean_slope - normal * mean_product) * inverse);
      }
    }
  }
};

// What each item adds to the gradients of weight and bias, channel by channel.
template <class T>
struct ParameterGradients {
  Places places;
  const T* x;
  const T* dy;
  int64_t x_stride, dy_stride;
  const T* moments;
  T* weight;
  T* bias;

  MILLRACE_HD void operator()(int64_t item) const {
    const T* const values = x + places.row(item) * x_stride;
    const T* const slopes = dy + places.row(item) * dy_stride;
    for (int64_t c = 0; c < places.channels; ++c) {
      const int64_t part = item * places.groups + c / places.size();
      const T mean = moments[2 * part], inverse = moments[2 * part + 1];
      double product = 0, sum = 0;
      for (int64_t p = 0; p < places.pixels; ++p) {
        const int64_t column = places.column(item, c, p);
        sum += static_cast<double>(slopes[column]);
        product += static_cast<double>(slopes[column] * ((values[column] - mean) * inverse));
      }
      weight[item * places.channels + c] = static_cast<T>(product);
      bias[item * places.channels + c] = static_cast<T>(sum);
    }
  }
};

class GroupPlan final : public LayerPlan {
 public:
  GroupPlan(const PlanArgs& args, const GroupNormShape& shape)
      : places_(shape),
        epsilon_(shape.epsilon),
        items_(args.output.rows() * shape.items),
        train_(args.mode == Mode::train),
        by_item_{Shape{items_, shape.channels}, args.output.dtype()} {}

  size_t saved_bytes() const override {
    return train_ ? static_cast<size_t>(2 * parts()) * size_of(by_item_.dtype) : 0;
  }
  size_t scratch_bytes() const override {
    return train_ ? 2 * aligned_bytes(by_item_.bytes()) + column_sum_scratch(by_item_) : 0;
  }
  bool backward_reads_output() const override { return false; }

  void forward(Context& context, const ForwardArgs& args) override {
    dispatch_float(by_item_.dtype, [&]<class T>() {
      for_each_row(context, parts(), part_size(),
                   Normalise<T>{places_, args.inputs[0].as<T>(), args.inputs[0].stride(), args.params[0].as<T>(),
                                args.params[1].as<T>(), Target<T>(context, {.view = args.output}),
                                train_ ? static_cast<T*>(args.saved) : nullptr, epsilon_});
    });
  }

  void backward(Context& context, const BackwardArgs& args) override {
    const ConstTensorView &x = args.inputs[0], &dy = args.output_gradient;
    dispatch_float(by_item_.dtype, [&]<class T>() {
      const T* const moments = static_cast<const T*>(args.saved);
      if (const Destination& dx = args.input_gradients[0]) {
        for_each_row(context, parts(), part_size(),
                     NormaliseGradient<T>{places_, x.as<T>(), dy.as<T>(), x.stride(), dy.stride(),
                                          args.params[0].as<T>(), moments, Target<T>(context, dx)});
      }
      auto* const weight = static_cast<std::byte*>(args.scratch);
      std::byte* const bias = weight + aligned_bytes(by_item_.bytes());
      std::byte* const scratch = bias + aligned_bytes(by_item_.bytes());
      for_each_row(context, items_, places_.channels * places_.pixels,
                   ParameterGradients<T>{places_, x.as<T>(), dy.as<T>(), x.stride(), dy.stride(), moments,
                                         reinterpret_cast<T*>(weight), reinterpret_cast<T*>(bias)});
      const void* const sums[] = {weight, bias};
      for (size_t i = 0; i < 2; ++i) {
        const ConstTensorView by_item(sums[i], by_item_.dtype, by_item_.shape);
        if (args.parameter_gradients[i]) column_sum(context, by_item, args.parameter_gradients[i], scratch);
      }
    });
  }

 private:
  int64_t parts() const { return items_ * places_.groups; }
  int64_t part_size() const { return places_.size() * places_.pixels; }

  Places places_;
  double epsilon_;
  int64_t items_;  // of the batch
  bool train_;
  TensorSpec by_item_;  // what each item adds to a parameter's gradient
};

}  // namespace

std::unique_ptr<LayerPlan> plan_group_norm(const PlanArgs& args, const GroupNormShape& shape) {
  return std::make_unique<GroupPlan>(args, shape);
}

}  // namespace millrace
