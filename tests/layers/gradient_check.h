// Gradient checks in double: backward() against central differences of forward().
//
//   check_gradients({.kind = "dense", .options = Spec::map().set("units", 4), .inputs = {Shape{5}}});
//
// The checked function is sum(c * output) with fixed c. Where the one-sided differences disagree lies a kink, and the
// coordinate is left out; more than one in ten left out is a failure, so a wrong gradient cannot pass for kinks.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "tests/layers/layer_run.h"

namespace millrace::testing {

// Compares `gradient` with the differences of `function` at `values`; `set` puts changed values where function() reads
// them. Returns the number of coordinates left out as kinks.
[[nodiscard]] inline int compare_with_differences(const std::string& what, const std::vector<double>& values,
                                                  const std::vector<double>& gradient,
                                                  const std::function<void(const std::vector<double>&)>& set,
                                                  const std::function<double()>& function) {
  int kinks = 0;
  set(values);
  const double here = function();
  for (size_t i = 0; i < values.size(); ++i) {
    const double step = 1e-5 * std::max(1.0, std::abs(values[i]));
    std::vector<double> moved = values;
    moved[i] = values[i] + step;
    set(moved);
    const double above = function();
    moved[i] = values[i] - step;
    set(moved);
    const double below = function();
    const double right = (above - here) / step, left = (here - below) / step;
    if (std::abs(right - left) > 1e-3 * std::max(1.0, std::abs(right) + std::abs(left))) {
      ++kinks;
      continue;
    }
    const double expected = (above - below) / (2 * step);
    EXPECT_NEAR(gradient[i], expected, 1e-8 * std::max(1.0, std::abs(expected))) << what << ", value " << i;
  }
  set(values);
  return kinks;
}

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Gives a run its fixed inputs, parameters and output gradient.
inline void prepare(LayerRun& run) {
  for (size_t i = 0; i < run.input_count(); ++i) {
    run.set_input(i, draws(cat("input ", i), static_cast<int64_t>(run.input(i).size()), -2, 2));
  }
  for (size_t i = 0; i < run.parameter_count(); ++i) {
    run.set_parameter(i, draws(cat("parameter ", i), static_cast<int64_t>(run.parameter(i).size())));
  }
  run.set_output_gradient(draws("gradient", run.output_spec().shape.elements()));
}

// The double run against differences.
inline void check_gradients(const LayerCase& from, const LayerCatalog& catalog = LayerCatalog::builtin()) {
  ASSERT_EQ(from.dtype, DType::f64);
  LayerRun run(from, catalog);
  prepare(run);
  const std::vector<double> c = draws("gradient", run.output_spec().shape.elements());
  run.forward();
  run.backward();
  const auto function = [&] {
    run.forward();
    return dot(c, run.output());
  };
  int kinks = 0;
  size_t coordinates = 0;
  for (size_t i = 0; i < run.input_count(); ++i) {
    coordinates += run.input(i).size();
    kinks += compare_with_differences(
        cat("input ", i), run.input(i), run.input_gradient(i),
        [&](const std::vector<double>& v) { run.set_input(i, v); }, function);
  }
  for (size_t i = 0; i < run.parameter_count(); ++i) {
    coordinates += run.parameter(i).size();
    kinks += compare_with_differences(
        run.parameter_name(i), run.parameter(i), run.parameter_gradient(i),
        [&](const std::vector<double>& v) { run.set_parameter(i, v); }, function);
  }
  EXPECT_LE(kinks * 10, static_cast<int>(coordinates)) << "too many kinks to judge";
}

inline void expect_close(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance,
                         const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double scale = 0;
  for (const double value : expected) scale = std::max(scale, std::abs(value));
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], tolerance * std::max(scale, 1e-30)) << what << ", value " << i;
  }
}

// The float run against the double one.
inline void check_float(LayerCase from, double tolerance = 1e-5,
                        const LayerCatalog& catalog = LayerCatalog::builtin()) {
  LayerRun exact(from, catalog);
  from.dtype = DType::f32;
  LayerRun run(from, catalog);
  for (LayerRun* each : {&exact, &run}) {
    prepare(*each);
    each->forward();
    each->backward();
  }
  expect_close(run.output(), exact.output(), tolerance, "output");
  for (size_t i = 0; i < run.input_count(); ++i) {
    expect_close(run.input_gradient(i), exact.input_gradient(i), tolerance, cat("gradient of input ", i));
  }
  for (size_t i = 0; i < run.parameter_count(); ++i) {
    expect_close(run.parameter_gradient(i), exact.parameter_gradient(i), tolerance, run.parameter_name(i));
  }
}

// What a Destination asks for: adding, scaled by alpha, must give before + alpha * gradient, in both dtypes.
inline void check_destinations(LayerCase from, double tolerance = 1e-5,
                               const LayerCatalog& catalog = LayerCatalog::builtin()) {
  for (const DType dtype : {DType::f64, DType::f32}) {
    from.dtype = dtype;
    from.input_use = from.parameter_use = GradientUse::write;
    LayerRun plain(from, catalog);
    from.input_use = from.parameter_use = GradientUse::add;
    LayerRun added(from, catalog);
    added.set_alpha(-0.5F, 0.25F);
    const auto before = [](const std::vector<double>& like) {
      return draws("before", static_cast<int64_t>(like.size()));
    };
    for (size_t i = 0; i < added.input_count(); ++i) added.set_input_gradient(i, before(added.input(i)));
    for (size_t i = 0; i < added.parameter_count(); ++i) added.set_parameter_gradient(i, before(added.parameter(i)));
    for (LayerRun* each : {&plain, &added}) {
      prepare(*each);
      each->forward();
      each->backward();
    }
    const auto combined = [&](const std::vector<double>& gradient, double alpha) {
      std::vector<double> out = before(gradient);
      for (size_t i = 0; i < out.size(); ++i) out[i] += alpha * gradient[i];
      return out;
    };
    for (size_t i = 0; i < plain.input_count(); ++i) {
      expect_close(added.input_gradient(i), combined(plain.input_gradient(i), 0.25), tolerance, cat("input ", i));
    }
    for (size_t i = 0; i < plain.parameter_count(); ++i) {
      expect_close(added.parameter_gradient(i), combined(plain.parameter_gradient(i), -0.5), tolerance,
                   plain.parameter_name(i));
    }
  }
}

// One, two, three and eight threads give the same bits, in float.
inline void check_threads(LayerCase from, const LayerCatalog& catalog = LayerCatalog::builtin()) {
  from.dtype = DType::f32;
  std::vector<std::vector<double>> first;
  for (const int threads : {1, 2, 3, 8}) {
    LayerRun run(from, catalog, threads);
    prepare(run);
    run.forward();
    run.backward();
    std::vector<std::vector<double>> all = {run.output()};
    for (size_t i = 0; i < run.input_count(); ++i) all.push_back(run.input_gradient(i));
    for (size_t i = 0; i < run.parameter_count(); ++i) all.push_back(run.parameter_gradient(i));
    if (first.empty()) first = all;
    EXPECT_EQ(all, first) << threads << " threads";
  }
}

// The first three for one layer.
inline void check_layer(const LayerCase& from, const LayerCatalog& catalog = LayerCatalog::builtin()) {
  check_gradients(from, catalog);
  check_float(from, 1e-5, catalog);
  check_destinations(from, 1e-5, catalog);
}

}  // namespace millrace::testing
