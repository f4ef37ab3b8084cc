// Whole trainings against PyTorch: tests/golden/make_golden.py makes the numbers, and says how rows and weights arise.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "millrace/core/random.h"
#include "tests/layers/model/training.h"
#include "tests/support/paths.h"

namespace millrace::testing {
namespace {

constexpr int kSteps = 50;

nlohmann::json golden(const std::string& name) {
  std::ifstream file(test::source_dir() + "/tests/golden/" + name);
  return nlohmann::json::parse(file);
}

std::vector<double> rows_of(int step, int64_t count) {
  std::vector<double> rows;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = philox64(23, fnv1a64("golden.features"), static_cast<uint64_t>(step * count + i));
    rows.push_back(static_cast<double>(static_cast<float>(1.75 * (2 * to_unit(bits) - 1))));
  }
  return rows;
}

// Whether the sum of each run of `length` features is positive.
std::vector<double> signs_of_sums(const std::vector<double>& rows, size_t length) {
  std::vector<double> labels;
  for (size_t i = 0; i < rows.size(); i += length) {
    double sum = 0;
    for (size_t k = 0; k < length; ++k) sum += rows[i + k];
    labels.push_back(sum > 0 ? 1 : 0);
  }
  return labels;
}

void expect_relative(double actual, double expected, double tolerance, double floor, const std::string& what) {
  EXPECT_NEAR(actual, expected, tolerance * std::max(std::abs(expected), floor)) << what;
}

// The sum of the bit patterns, modulo 2^64.
uint64_t bits_sum(TensorView values) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < values.elements(); ++i) {
    sum += values.dtype() == DType::f32 ? std::bit_cast<uint32_t>(values.as<float>()[i])
                                        : std::bit_cast<uint64_t>(values.as<double>()[i]);
  }
  return sum;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double squares = 0;
  for (size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(squares);
}

struct Tolerance {
  double values, changes;  // relative
};

void compare(const TrainingCase& from, size_t label_length, const nlohmann::json& expected, Tolerance tolerance,
             bool same_bits) {
  Training training(from);
  Model& model = training.model();
  ASSERT_EQ(model.parameters().size(), expected["parameters"].size());
  std::vector<std::vector<double>> initial;
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    const std::string& name = model.parameters()[i].name;
    initial.push_back(read_values(model.parameter(i)));
    if (same_bits) {
      EXPECT_EQ(bits_sum(model.parameter(i)), expected["parameters"][name]["initial_bits"].get<uint64_t>()) << name;
    }
  }
  for (int step = 0; step < kSteps; ++step) {
    const std::vector<double> rows = rows_of(step, from.batch * from.row.elements());
    const double loss = training.step(rows, signs_of_sums(rows, label_length));
    expect_relative(loss, expected["losses"].at(static_cast<size_t>(step)), tolerance.values, 0, cat("loss ", step));
  }
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    const std::string& name = model.parameters()[i].name;
    const nlohmann::json& wanted = expected["parameters"][name];
    const std::vector<double> weights = read_values(model.parameter(i));
    double sum = 0;
    for (const double weight : weights) sum += weight;
    expect_relative(sum, wanted["sum"], tolerance.values, std::sqrt(static_cast<double>(weights.size())) * 1e-2, name);
    expect_relative(distance(weights, initial[i]), wanted["change"], tolerance.changes, 0, cat("change of ", name));
    for (const nlohmann::json& sample : wanted["samples"]) {
      const size_t index = sample[0].get<size_t>();
      expect_relative(weights.at(index), sample[1], tolerance.values, 1e-2, cat(name, " ", index));
    }
  }
}

TEST(Golden, TrainsTheNotebooksModelAsPyTorchDoes) {
  TrainingCase from{
      .layers = {{.kind = "dense", .options = dense_units(1024, "relu")}, {.kind = "dense", .options = dense_units(1)}},
      .row = Shape{1024},
      .batch = 23};
  for (const bool in_place : {true, false}) {
    from.in_place = in_place;
    compare(from, 1024, golden("mlp.json"), {1e-4, 1e-4}, true);
  }
}

TEST(Golden, TrainsAGraphAsPyTorchDoes) {
  TrainingCase from{.layers = {{.kind = "dense", .options = dense_units(16, "relu"), .name = "stem"},
                               {.kind = "dense", .options = dense_units(16), .name = "left"},
                               {.kind = "relu"},
                               {.kind = "dense", .options = dense_units(16), .from = {"stem"}, .name = "right"},
                               {.kind = "add", .from = {"relu", "right", "stem"}, .name = "join"},
                               {.kind = "dense", .options = dense_units(12, "relu"), .name = "around"},
                               {.kind = "add", .from = {"around", "features"}},
                               {.kind = "dense", .options = dense_units(2), .name = "out"}},
                    .row = Shape{12},
                    .batch = 7,
                    .learning_rate = 0.2};
  const nlohmann::json expected = golden("graph.json");
  for (const bool in_place : {true, false}) {
    from.in_place = in_place;
    from.dtype = DType::f64;
    compare(from, 6, expected, {1e-11, 1e-11}, true);
    from.dtype = DType::f32;
    compare(from, 6, expected, {1e-4, 1e-4}, false);
  }
}

// Each mutation of run_mutations changes one place that is there.
TEST(Mutations, FitTheSources) {
  const std::string root = test::source_dir() + '/';
  std::ifstream list(root + "tests/golden/mutations.txt");
  std::map<std::string, std::string> mutation;
  int count = 0;
  for (std::string line; std::getline(list, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with('#') || colon == std::string::npos) continue;
    mutation[line.substr(0, colon)] = line.substr(colon + 2);
    if (!line.starts_with("new: ")) continue;
    std::ifstream file(root + mutation["file"]);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const size_t first = text.find(mutation["old"]);
    EXPECT_NE(first, std::string::npos) << mutation["name"];
    EXPECT_EQ(text.find(mutation["old"], first + 1), std::string::npos) << mutation["name"];
    ++count;
  }
  EXPECT_GT(count, 10);
}

}  // namespace
}  // namespace millrace::testing
