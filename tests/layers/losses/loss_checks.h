// check_loss: what every loss owes (layers/loss.h), on drawn predictions.
//
//   check_loss({.kind = "mse", .row = Shape{3}}, draws_of("label"));
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/layers/losses/loss_run.h"

#include "millrace/core/sizes.h"

namespace millrace::testing {

// As many labels as asked for; the first ones of more are the same.
using Labels = std::function<std::vector<double>(int64_t count)>;

inline Labels numbers(double low = -4, double high = 4) {
  return [=](int64_t count) { return draws("label", count, low, high); };
}
// 0, 1, .. classes - 1.
inline Labels classes(int count) {
  return [=](int64_t labels) {
    std::vector<double> out = draws("label", labels, 0, count);
    for (double& label : out) label = std::floor(label);
    return out;
  };
}

inline void prepare(LossRun& run, const LossCase& from, const Labels& labels) {
  run.set_prediction(draws("prediction", from.batch * from.row.elements(), -4, 4));
  run.set_label(labels(from.batch * from.label_shape().elements()));
  run.set_weight(draws("weight", from.batch, 0.1, 3));
}

inline void check_loss_gradient(LossCase from, const Labels& labels) {
  from.batch = 7;
  LossRun run(from);
  prepare(run, from, labels);
  run.run();
  const int kinks = compare_with_differences(
      "prediction", run.prediction(), run.gradient(),
      [&](const std::vector<double>& values) { run.set_prediction(values); }, [&] { return run.run(); });
  EXPECT_EQ(kinks, 0);
}

// Float against double, at sizes about those of the blocks in which elements are handled and added up.
inline void check_loss_in_float(LossCase from, const Labels& labels) {
  for (const int64_t elements : {1023, 1024, 1025, 16384, 16385}) {
    from.batch = ceil_div(elements, from.row.elements());
    from.dtype = DType::f64;
    LossRun exact(from);
    prepare(exact, from, labels);
    from.dtype = DType::f32;
    LossRun run(from);
    prepare(run, from, labels);
    const double expected = exact.run();
    EXPECT_NEAR(run.run(), expected, 1e-6 * std::max(1.0, expected)) << elements;
    EXPECT_NEAR(run.weight(), exact.weight(), 1e-6 * exact.weight()) << elements;
    expect_close(run.gradient(), exact.gradient(), 1e-6, cat("gradient of ", elements));
  }
}

// The means of batches, joined by their weight, are the mean of all.
inline void check_loss_joins(LossCase from, const Labels& labels) {
  from.batch = 10;
  LossRun all(from);
  prepare(all, from, labels);
  const int64_t columns = from.row.elements(), label_columns = from.label_shape().elements();
  const std::vector<double> predictions = all.prediction(), targets = labels(10 * label_columns),
                            weights = draws("weight", 10, 0.1, 3);
  const double expected = all.run();
  EXPECT_NEAR(all.weight(), from.weighted ? std::accumulate(weights.begin(), weights.end(), 0.0) : 10, 1e-14);
  double sum = 0, weight = 0;
  for (const auto& [begin, end] : {std::pair{0, 7}, {7, 8}, {8, 10}}) {
    LossCase part = from;
    part.batch = end - begin;
    LossRun run(part);
    run.set_prediction({predictions.begin() + columns * begin, predictions.begin() + columns * end});
    run.set_label({targets.begin() + label_columns * begin, targets.begin() + label_columns * end});
    run.set_weight({weights.begin() + begin, weights.begin() + end});
    const double mean = run.run();
    sum += mean * run.weight();
    weight += run.weight();
  }
  EXPECT_NEAR(weight, all.weight(), 1e-14);
  EXPECT_NEAR(sum / weight, expected, 1e-14 * std::max(1.0, expected));
}

inline void check_loss_weights(LossCase from, const Labels& labels) {
  from.batch = 5;
  from.weighted = false;
  LossRun plain(from);
  prepare(plain, from, labels);
  from.weighted = true;
  LossRun weighted(from);
  prepare(weighted, from, labels);

  // Equal weights change nothing.
  weighted.set_weight(filled(5, 0.75));
  const double expected = plain.run(), tolerance = from.dtype == DType::f64 ? 1e-14 : 1e-6;
  EXPECT_NEAR(weighted.run(), expected, tolerance * std::max(1.0, expected));
  EXPECT_EQ(weighted.weight(), 3.75);
  expect_close(weighted.gradient(), plain.gradient(), tolerance, "gradient of equal weights");

  // Rows of weight 0 are as good as none, whatever is predicted.
  const int64_t columns = from.row.elements();
  const std::vector<double> predictions = weighted.prediction(), targets = labels(5 * from.label_shape().elements());
  std::vector<double> spoilt = predictions;
  for (int64_t i = 0; i < columns; ++i) {
    spoilt[static_cast<size_t>(i)] = std::nan("");
    spoilt[static_cast<size_t>(2 * columns + i)] = std::numeric_limits<double>::infinity();
  }
  weighted.set_weight({0, 0.5, 0, 2, 1});
  const double clean = weighted.run();
  const std::vector<double> gradient = weighted.gradient();
  weighted.set_prediction(spoilt);
  EXPECT_EQ(weighted.run(), clean);
  EXPECT_EQ(weighted.weight(), 3.5);
  EXPECT_EQ(weighted.gradient(), gradient);
  for (int64_t i = 0; i < columns; ++i) EXPECT_EQ(gradient[static_cast<size_t>(i)], 0);

  // Weights that add to nothing teach nothing.
  weighted.set_weight({0, 0, 0, 0, 0});
  EXPECT_EQ(weighted.run(), 0);
  EXPECT_EQ(weighted.weight(), 0);
  EXPECT_EQ(weighted.gradient(), filled(5 * columns, 0));

  // What is not a number shows where the row counts.
  weighted.set_weight({1, 1, 0, 1, 1});
  EXPECT_TRUE(std::isnan(weighted.run()));
  EXPECT_TRUE(std::isnan(weighted.gradient()[0]));
  EXPECT_FALSE(std::isnan(weighted.gradient().back()));
}

inline void check_loss_threads(LossCase from, const Labels& labels) {
  from.batch = ceil_div<int64_t>(42000, from.row.elements());
  from.dtype = DType::f32;
  double loss = 0;
  std::vector<double> gradient;
  for (const int threads : {1, 2, 3, 8}) {
    LossRun run(from, threads);
    prepare(run, from, labels);
    const double now = run.run();
    if (threads == 1) loss = now, gradient = run.gradient();
    EXPECT_EQ(now, loss) << threads;
    EXPECT_EQ(run.gradient(), gradient) << threads;
    // The loss alone is the same one.
    EXPECT_EQ(run.run(false), loss) << threads;
    EXPECT_TRUE(std::isnan(run.gradient()[0]));
  }
}

inline void check_loss(LossCase from, const Labels& labels) {
  SCOPED_TRACE(cat(from.kind, ' ', from.row.text()));
  for (const bool weighted : {false, true}) {
    from.weighted = weighted;
    check_loss_gradient(from, labels);
    check_loss_in_float(from, labels);
    check_loss_joins(from, labels);
    check_loss_threads(from, labels);
  }
  for (const DType dtype : {DType::f32, DType::f64}) {
    from.dtype = dtype;
    check_loss_weights(from, labels);
  }
}

// The text of the ShapeError that `call` throws.
inline std::string shape_error(const std::function<void()>& call) {
  try {
    call();
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "no error";
}

// What plan() says about labels of another dtype than the loss reads.
inline std::string plan_error(const std::string& kind, DType label) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  const TensorView prediction(nullptr, DType::f64, Shape{4, 2}), labels(nullptr, label, Shape{4, 2});
  return shape_error([&] { make_loss(kind)->plan(context, {.prediction = prediction, .label = labels}); });
}

}  // namespace millrace::testing
