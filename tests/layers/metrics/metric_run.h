// MetricCase, MetricRows: one metric alone, on rows padded as in a model, with values as doubles; check_metric: what
// every metric owes (layers/loss.h).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/layers/layer_run.h"

namespace millrace::testing {

struct MetricCase {
  std::string kind;
  Spec options = Spec::map();
  TensorSpec prediction, label;  // of one row
};

struct MetricRows {
  std::vector<double> predictions, labels;
  std::vector<double> weights = {};  // none: not weighted

  double weight(size_t row) const { return weights.empty() ? 1 : weights.at(row); }
};

inline std::unique_ptr<Metric> make_metric(const std::string& kind, const Spec& options = Spec::map()) {
  return LayerCatalog::builtin().metrics.make({kind, options}, options);
}

inline int64_t count_rows(const MetricCase& from, const MetricRows& rows) {
  return static_cast<int64_t>(rows.labels.size()) / from.label.shape.elements();
}

// The partial of one batch.
inline std::vector<std::byte> partial_of(const MetricCase& from, const MetricRows& rows, int threads = 2) {
  Executor executor(threads);
  Context context(Device::cpu(), executor);
  const int64_t batch = count_rows(from, rows);
  const auto padded = [&](const TensorSpec& row) {
    return Tensor(Device::cpu(), {row.shape.with_batch(batch), row.dtype}, Tensor::Rows::padded);
  };
  const bool weighted = !rows.weights.empty();
  Tensor prediction = padded(from.prediction), label = padded(from.label), weight = padded({Shape{1}, DType::f32});
  write_values(prediction.view(), rows.predictions);
  write_values(label.view(), rows.labels);
  if (weighted) write_values(weight.view(), rows.weights);
  const std::unique_ptr<Metric> metric = make_metric(from.kind, from.options);
  metric->check(from.prediction, from.label);
  const std::unique_ptr<MetricPlan> plan =
      metric->plan(context, {.prediction = prediction.view(), .label = label.view(), .weighted = weighted});
  std::vector<std::byte> partial(plan->partial_bytes(), std::byte{0xff});
  const Memory scratch(Device::cpu(), plan->scratch_bytes());
  if (scratch.bytes() > 0) std::fill_n(static_cast<unsigned char*>(scratch.data()), scratch.bytes(), 0xff);
  plan->run(context, {.prediction = prediction.view(),
                      .label = label.view(),
                      .weight = weighted ? ConstTensorView(weight.view()) : ConstTensorView(),
                      .partial = partial.data(),
                      .scratch = scratch.data()});
  return partial;
}

// The rows [begin, end).
inline MetricRows part_of(const MetricCase& from, const MetricRows& rows, int64_t begin, int64_t end) {
  const auto cut = [&](const std::vector<double>& values, int64_t columns) {
    if (values.empty()) return values;
    return std::vector<double>(values.begin() + begin * columns, values.begin() + end * columns);
  };
  return {cut(rows.predictions, from.prediction.shape.elements()), cut(rows.labels, from.label.shape.elements()),
          cut(rows.weights, 1)};
}

inline void add_rows(MetricAccumulator& accumulator, const MetricCase& from, const MetricRows& rows) {
  accumulator.add(partial_of(from, rows), count_rows(from, rows));
}

// A fresh accumulator that goes on from the state of another one.
inline std::unique_ptr<MetricAccumulator> restored(const MetricAccumulator& accumulator, const MetricCase& from) {
  State state;
  accumulator.save(state);
  std::unique_ptr<MetricAccumulator> fresh = make_metric(from.kind, from.options)->accumulator();
  fresh->restore(State::decode(state.encode()));
  return fresh;
}

// Of the value, which may be NaN.
inline uint64_t bits_of(const MetricAccumulator& accumulator) { return std::bit_cast<uint64_t>(accumulator.value()); }

inline double value_of(const MetricCase& from, const MetricRows& rows) {
  const std::unique_ptr<MetricAccumulator> accumulator = make_metric(from.kind, from.options)->accumulator();
  add_rows(*accumulator, from, rows);
  return accumulator->value();
}

// Fractions, and a 0 in every fifth row.
inline std::vector<double> drawn_weights(int64_t rows) {
  std::vector<double> weights = draws("weight", rows, 0, 3);
  for (size_t i = 0; i < weights.size(); i += 5) weights[i] = 0;
  return weights;
}

// Whether how the rows are shared out to batches may change the last bits.
enum class Joins { exactly, closely };

inline void check_metric_threads(const MetricCase& from, const MetricRows& rows) {
  const std::vector<std::byte> partial = partial_of(from, rows, 1);
  for (const int threads : {2, 3, 8}) EXPECT_TRUE(partial_of(from, rows, threads) == partial) << threads;
}

// `rows`, without weights and with drawn ones, in both dtypes: the value is formula(rows), in whatever batches they
// come, and the same one on any number of threads. A row of weight 0 does not count, whatever is predicted. Predictions
// are float32 numbers.
inline void check_metric(MetricCase from, MetricRows rows, Joins unweighted, Joins weighted,
                         const std::function<double(const MetricRows&)>& formula) {
  SCOPED_TRACE(cat(from.kind, ' ', from.prediction.text(), ' ', from.label.text()));
  const int64_t batch = count_rows(from, rows), columns = from.prediction.shape.elements();
  for (const bool with_weights : {false, true}) {
    if (with_weights) rows.weights = drawn_weights(batch);
    const double expected = formula(rows), tolerance = 1e-12 * std::max(1.0, std::abs(expected));
    const bool exact = (with_weights ? weighted : unweighted) == Joins::exactly;
    for (const DType dtype : {DType::f32, DType::f64}) {
      from.prediction.dtype = dtype;
      const std::unique_ptr<MetricAccumulator> accumulator = make_metric(from.kind, from.options)->accumulator();
      EXPECT_TRUE(std::isnan(accumulator->value()));
      add_rows(*accumulator, from, rows);
      const double whole = accumulator->value();
      EXPECT_NEAR(whole, expected, tolerance);
      // Batches that grow from one row to all, and the same ones the other way round; and all of it by accumulators
      // that are saved and restored before each batch.
      for (const bool growing : {true, false}) {
        accumulator->reset();
        EXPECT_TRUE(std::isnan(accumulator->value()));
        std::unique_ptr<MetricAccumulator> heir = make_metric(from.kind, from.options)->accumulator();
        for (int64_t done = 0, size = 1; done < batch; done += size, size = std::min(2 * size, batch - done)) {
          const int64_t begin = growing ? done : batch - done - size;
          const std::vector<std::byte> partial = partial_of(from, part_of(from, rows, begin, begin + size));
          accumulator->add(partial, size);
          heir = restored(*heir, from);
          heir->add(partial, size);
          EXPECT_EQ(bits_of(*heir), bits_of(*accumulator)) << growing << ' ' << done;
        }
        EXPECT_EQ(bits_of(*restored(*accumulator, from)), bits_of(*accumulator)) << growing;
        if (exact) {
          EXPECT_EQ(accumulator->value(), whole) << growing;
        } else {
          EXPECT_NEAR(accumulator->value(), whole, tolerance) << growing;
        }
      }
      check_metric_threads(from, rows);

      if (!with_weights) continue;
      MetricRows spoilt = rows;
      for (size_t i = 0; i < spoilt.predictions.size(); ++i) {
        if (spoilt.weight(i / static_cast<size_t>(columns)) == 0) spoilt.predictions[i] = std::nan("");
      }
      EXPECT_EQ(value_of(from, spoilt), whole);
      std::fill(spoilt.weights.begin(), spoilt.weights.end(), 0.0);
      EXPECT_TRUE(std::isnan(value_of(from, spoilt)));
    }
  }
}

// What a state that numbers were changed in says, at the latest when rows are added to it.
inline std::string restore_error(const MetricCase& from, const MetricRows& rows, const State& state) {
  const std::unique_ptr<MetricAccumulator> accumulator = make_metric(from.kind, from.options)->accumulator();
  try {
    accumulator->restore(state);
    accumulator->value();
    add_rows(*accumulator, from, rows);
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

// What check() says about one row.
inline std::string check_error(const std::string& kind, const TensorSpec& prediction, const TensorSpec& label,
                               const Spec& options = Spec::map()) {
  try {
    make_metric(kind, options)->check(prediction, label);
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "no error";
}

// What plan() says about float64 labels.
inline std::string plan_error(const std::string& kind, int64_t columns = 1) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  const TensorView prediction(nullptr, DType::f64, Shape{4, columns}), label(nullptr, DType::f64, Shape{4, columns});
  try {
    make_metric(kind)->plan(context, {.prediction = prediction, .label = label});
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "no error";
}

// Values that are often equal: multiples of 1/4.
inline std::vector<double> draws_with_ties(std::string_view name, int64_t count, double low, double high) {
  std::vector<double> out = draws(name, count, low, high);
  for (double& value : out) value = std::floor(4 * value) / 4;
  return out;
}

// 0, 1, .. count - 1.
inline std::vector<double> drawn_classes(std::string_view name, int64_t rows, int classes) {
  std::vector<double> out = draws(name, rows, 0, classes);
  for (double& value : out) value = std::floor(value);
  return out;
}

}  // namespace millrace::testing
