#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "millrace/c.h"
#include "millrace/core/text.h"
#include "millrace/version.h"
#include "tests/api/c_calls.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

constexpr auto kConfig = R"(
device: cpu
input:
  - mine: {epochs: 40}
  - shuffle_batch: {batch_size: 20, capacity: 400, min_after_dequeue: 200}
model:
  - dense: {units: 8, activation: tanh}
  - dense: {units: 1}
loss: sigmoid_cross_entropy
metrics: [accuracy]
optimizer: {adam: {learning_rate: 0.01}}
train: {log_every: 10}
)";

class CApiTest : public ::testing::Test {
 protected:
  // Points of a square, and whether they lie above its diagonal.
  CApiTest() {
    EXPECT_DONE(millrace_catalog_new(&catalog_, &error));
    for (int row = 0; row < 400; ++row) {
      const int x = row % 20, y = row / 20;
      points_.push_back(static_cast<float>(x) / 20);
      points_.push_back(static_cast<float>(y) / 20);
      labels_.push_back(y > x ? 1 : 0);
    }
  }
  ~CApiTest() override {
    millrace_network_free(network_);
    millrace_trainer_free(trainer_);
    millrace_catalog_free(catalog_);
  }

  void add_rows() {
    const void* values[] = {points_.data(), labels_.data()};
    EXPECT_DONE(millrace_catalog_add_rows(catalog_, "mine", kFields, 2, 400, values, &error));
  }
  void make_trainer() {
    EXPECT_DONE(millrace_trainer_from_string(kConfig, "c.yaml", nullptr, 0, catalog_, &trainer_, &error));
  }

  static constexpr millrace_field kFields[] = {{"features", MILLRACE_FLOAT32, 2}, {"label", MILLRACE_FLOAT32, 1}};
  TempFolder folder_;
  std::vector<float> points_, labels_;
  millrace_catalog* catalog_ = nullptr;
  millrace_trainer* trainer_ = nullptr;
  millrace_network* network_ = nullptr;
};

TEST_F(CApiTest, TrainsSavesLoadsAndPredicts) {
  EXPECT_STREQ(millrace_version(), MILLRACE_VERSION);
  add_rows();
  make_trainer();
  std::vector<int64_t> steps;
  millrace_callbacks callbacks = {};
  callbacks.size = sizeof callbacks;
  callbacks.user = &steps;
  callbacks.on_step = [](void* user, const millrace_step* step) {
    static_cast<std::vector<int64_t>*>(user)->push_back(step->step);
    EXPECT_EQ(step->batch_size, 20);
  };
  millrace_result result = {};
  result.size = sizeof result;
  EXPECT_DONE(millrace_trainer_run(trainer_, &callbacks, &result, &error));
  EXPECT_EQ(result.steps, 800);
  EXPECT_EQ(result.rows, 16000u);
  EXPECT_EQ(result.epochs, 40u);
  EXPECT_LT(result.loss, 0.5);
  EXPECT_STREQ(result.reason, "end of data");
  EXPECT_EQ(std::string(result.weights).size(), 64u);
  EXPECT_EQ(steps.size(), 80u);
  double accuracy = 0;
  EXPECT_DONE(millrace_trainer_metric(trainer_, "accuracy", &accuracy, &error));
  EXPECT_GT(accuracy, 0.7);

  const std::string path = folder_.path("m.safetensors");
  EXPECT_DONE(millrace_trainer_save(trainer_, path.c_str(), &error));
  EXPECT_DONE(millrace_network_load(path.c_str(), 1, nullptr, &network_, &error));
  ASSERT_EQ(millrace_network_field_count(network_), 1u);
  EXPECT_STREQ(millrace_network_field(network_, 0).name, "features");
  EXPECT_EQ(millrace_network_field(network_, 0).type, MILLRACE_FLOAT32);
  EXPECT_EQ(millrace_network_field(network_, 0).width, 2);
  EXPECT_EQ(millrace_network_outputs(network_), 1);
  std::vector<float> outputs(400), copy(400);
  const void* values[] = {points_.data()};
  EXPECT_DONE(millrace_network_predict(network_, values, 400, outputs.data(), &error));
  int right = 0;
  for (size_t row = 0; row < 400; ++row) right += (outputs[row] > 0) == (labels_[row] > 0) ? 1 : 0;
  EXPECT_GT(right, 370);

  millrace_network* same = nullptr;
  EXPECT_DONE(millrace_trainer_network(trainer_, &same, &error));
  EXPECT_DONE(millrace_network_predict(same, values, 400, copy.data(), &error));
  millrace_network_free(same);
  EXPECT_EQ(copy, outputs);
}

// Features and labels of a byte each train as numbers do, in arrays and from a callback, and predict so.
TEST_F(CApiTest, BytesTrainAndPredictAsTheirNumbers) {
  std::vector<uint8_t> bytes, byte_labels;
  std::vector<float> numbers;
  for (size_t row = 0; row < 400; ++row) {
    for (const size_t value : {row % 20, row / 20}) {
      bytes.push_back(static_cast<uint8_t>(value));
      numbers.push_back(static_cast<float>(value));
    }
    byte_labels.push_back(static_cast<uint8_t>(labels_[row]));
  }
  static constexpr millrace_field kBytes[] = {{"features", MILLRACE_UINT8, 2}, {"label", MILLRACE_UINT8, 1}};
  const void* of_bytes[] = {bytes.data(), byte_labels.data()};
  const void* of_numbers[] = {numbers.data(), labels_.data()};
  const auto trained = [&](const char* kind) {
    millrace_trainer_free(std::exchange(trainer_, nullptr));
    const std::string config = std::string(kConfig).replace(std::string(kConfig).find("mine"), 4, kind);
    EXPECT_DONE(millrace_trainer_from_string(config.c_str(), "c.yaml", nullptr, 0, catalog_, &trainer_, &error));
    millrace_result result = {};
    result.size = sizeof result;
    EXPECT_DONE(millrace_trainer_run(trainer_, nullptr, &result, &error));
    return std::string(result.weights);
  };
  struct Given {
    const uint8_t *features, *labels;
    int64_t at = 0;

    static int64_t fill(void* user, uint32_t, int64_t room, void* const* values) {
      auto& self = *static_cast<Given*>(user);
      const int64_t count = std::min<int64_t>(room, 400 - self.at);
      std::memcpy(values[0], self.features + 2 * self.at, static_cast<size_t>(2 * count));
      std::memcpy(values[1], self.labels + self.at, static_cast<size_t>(count));
      self.at = count == 0 ? 0 : self.at + count;
      return count;
    }
  } given{bytes.data(), byte_labels.data()};
  EXPECT_DONE(millrace_catalog_add_rows(catalog_, "numbers", kFields, 2, 400, of_numbers, &error));
  EXPECT_DONE(millrace_catalog_add_rows(catalog_, "bytes", kBytes, 2, 400, of_bytes, &error));
  EXPECT_DONE(millrace_catalog_add_callback(catalog_, "given", kBytes, 2, 7, Given::fill, &given, &error));
  const std::string expected = trained("numbers");
  std::vector<float> outputs(400), same(400);
  EXPECT_DONE(millrace_trainer_network(trainer_, &network_, &error));
  EXPECT_DONE(millrace_network_predict(network_, of_numbers, 400, outputs.data(), &error));
  EXPECT_EQ(trained("given"), expected);
  EXPECT_EQ(trained("bytes"), expected);
  millrace_network_free(std::exchange(network_, nullptr));
  EXPECT_DONE(millrace_trainer_network(trainer_, &network_, &error));
  EXPECT_EQ(millrace_network_field(network_, 0).type, MILLRACE_UINT8);
  EXPECT_EQ(millrace_network_field(network_, 0).width, 2);
  EXPECT_DONE(millrace_network_predict(network_, of_bytes, 400, same.data(), &error));
  EXPECT_EQ(same, outputs);
}

TEST_F(CApiTest, SmallerStructuresOfOlderProgramsAreNotOverrun) {
  add_rows();
  make_trainer();
  struct {
    millrace_result result = {};
    unsigned char behind[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  } old;
  old.result.size = offsetof(millrace_result, epochs);
  old.result.epochs = 77;
  EXPECT_DONE(millrace_trainer_run(trainer_, nullptr, &old.result, &error));
  EXPECT_EQ(old.result.rows, 16000u);
  EXPECT_EQ(old.result.epochs, 77u) << "behind its size";
}

TEST_F(CApiTest, ErrorsHavePlaceAndHint) {
  millrace_error* error = nullptr;
  const char* settings[] = {"train.stepz=5"};
  add_rows();
  EXPECT_EQ(millrace_trainer_from_string(kConfig, "c.yaml", settings, 1, catalog_, &trainer_, &error),
            MILLRACE_ERROR_CONFIG);
  EXPECT_EQ(trainer_, nullptr);
  EXPECT_EQ(millrace_error_status(error), MILLRACE_ERROR_CONFIG);
  EXPECT_NE(std::string(millrace_error_message(error)).find("stepz"), std::string::npos);
  EXPECT_NE(std::string(millrace_error_hint(error)).find("steps"), std::string::npos);
  millrace_error_free(error);

  EXPECT_EQ(millrace_trainer_from_string("input: [", "c.yaml", nullptr, 0, nullptr, &trainer_, &error),
            MILLRACE_ERROR_CONFIG);
  EXPECT_STREQ(millrace_error_file(error), "c.yaml");
  EXPECT_EQ(millrace_error_line(error), 1);
  EXPECT_GT(millrace_error_column(error), 0);
  millrace_error_free(error);
  EXPECT_EQ(millrace_trainer_from_string("{seed: x}", nullptr, nullptr, 0, nullptr, &trainer_, &error),
            MILLRACE_ERROR_CONFIG);
  EXPECT_EQ(text_of(error), "config: seed: expected an integer, got \"x\"");

  EXPECT_EQ(millrace_trainer_from_file("no.yaml", nullptr, 0, nullptr, &trainer_, &error), MILLRACE_ERROR_MISSING);
  EXPECT_NE(text_of(error).find("no.yaml"), std::string::npos);
  EXPECT_EQ(millrace_network_load(folder_.write("m", "x").c_str(), 1, nullptr, &network_, &error), MILLRACE_ERROR_DATA);
  millrace_error_free(error);
  // Nobody need look.
  EXPECT_EQ(millrace_trainer_from_file("no.yaml", nullptr, 0, nullptr, &trainer_, nullptr), MILLRACE_ERROR_MISSING);
}

TEST_F(CApiTest, ArgumentsAreChecked) {
  millrace_error* error = nullptr;
  const auto refused = [&](millrace_status status, const std::string& text) {
    EXPECT_EQ(status, MILLRACE_ERROR_ARGUMENT);
    EXPECT_EQ(text_of(error), text);
  };
  refused(millrace_catalog_new(nullptr, &error), "catalog is NULL");
  refused(millrace_trainer_from_file(nullptr, nullptr, 0, nullptr, &trainer_, &error), "path is NULL");
  refused(millrace_trainer_from_file("x", nullptr, 1, nullptr, &trainer_, &error), "settings is NULL");
  refused(millrace_trainer_run(nullptr, nullptr, nullptr, &error), "trainer is NULL");
  refused(millrace_network_load("x", -1, nullptr, &network_, &error), "threads is -1");
  refused(millrace_network_load("x", 4097, nullptr, &network_, &error), "threads is 4097");
  const void* values[] = {points_.data(), nullptr};
  refused(millrace_catalog_add_rows(catalog_, "mine", kFields, 2, 400, values, &error), "values[1] is NULL");
  EXPECT_EQ(millrace_catalog_add_rows(catalog_, "none", kFields, 2, 0, nullptr, &error), MILLRACE_OK);
  const millrace_field wrong[] = {{"a", 9, 1}};
  refused(millrace_catalog_add_rows(catalog_, "mine", wrong, 1, 1, values, &error), "there is no type 9");
  const millrace_field narrow[] = {{"a", MILLRACE_INT32, 0}};
  refused(millrace_catalog_add_rows(catalog_, "mine", narrow, 1, 1, values, &error), "fields[0].width is 0");
  const millrace_field twice[] = {{"a", MILLRACE_INT32, 1}, {"a", MILLRACE_INT32, 1}};
  refused(millrace_catalog_add_rows(catalog_, "mine", twice, 2, 1, values, &error), "two fields are called \"a\"");
  add_rows();
  make_trainer();
  double value = 0;
  millrace_result unsized = {};
  refused(millrace_trainer_run(trainer_, nullptr, &unsized, &error),
          "result->size is 0, expected the size of the structure");
  millrace_callbacks no_size = {};
  refused(millrace_trainer_run(trainer_, &no_size, nullptr, &error),
          "callbacks->size is 0, expected the size of the structure");
  refused(millrace_trainer_metric(trainer_, "auc", &value, &error), "the run reported no metric \"auc\"");
  EXPECT_EQ(millrace_catalog_add_rows(catalog_, "relu_rows", kFields, 0, 0, nullptr, &error), MILLRACE_OK);
  millrace_trainer_free(nullptr);
  millrace_network_free(nullptr);
  millrace_catalog_free(nullptr);
  millrace_error_free(nullptr);
  EXPECT_EQ(millrace_network_field_count(nullptr), 0u);
  EXPECT_STREQ(millrace_error_text(nullptr), "");
}

TEST_F(CApiTest, WritesFiles) {
  const std::string path = folder_.write("f", "old");
  EXPECT_DONE(millrace_write_file(path.c_str(), "a\0b", 3, &error));
  EXPECT_EQ(TempFolder::read(path), std::string("a\0b", 3));
  millrace_error* error = nullptr;
  EXPECT_EQ(millrace_write_file(folder_.path("no/f").c_str(), "ab", 2, &error), MILLRACE_ERROR_IO);
  millrace_error_free(error);
  EXPECT_EQ(millrace_write_file(path.c_str(), nullptr, 2, &error), MILLRACE_ERROR_ARGUMENT);
  EXPECT_EQ(text_of(error), "bytes is NULL");
}

// 400 rows a pass, then their end; after `fails_at` calls an error.
struct Source {
  const std::vector<float>& points;
  const std::vector<float>& labels;
  int64_t at = 0;
  int calls = 0, fails_at = 0;

  static int64_t fill(void* user, uint32_t, int64_t room, void* const* values) {
    auto& self = *static_cast<Source*>(user);
    if (++self.calls == self.fails_at) return -5;
    const int64_t count = std::min<int64_t>(room, 400 - self.at);
    std::copy_n(self.points.begin() + 2 * self.at, 2 * count, static_cast<float*>(values[0]));
    std::copy_n(self.labels.begin() + self.at, count, static_cast<float*>(values[1]));
    self.at = count == 0 ? 0 : self.at + count;
    return count;
  }
};

TEST_F(CApiTest, RowsOfACallbackTrainAsThoseInMemory) {
  millrace_result in_memory = {}, called = {};
  in_memory.size = called.size = sizeof called;
  add_rows();
  make_trainer();
  EXPECT_DONE(millrace_trainer_run(trainer_, nullptr, &in_memory, &error));
  millrace_trainer_free(trainer_);
  millrace_catalog_free(catalog_);
  EXPECT_DONE(millrace_catalog_new(&catalog_, &error));
  Source source{points_, labels_};
  EXPECT_DONE(millrace_catalog_add_callback(catalog_, "mine", kFields, 2, 77, Source::fill, &source, &error));
  make_trainer();
  EXPECT_DONE(millrace_trainer_run(trainer_, nullptr, &called, &error));
  EXPECT_EQ(called.rows, 16000u);
  EXPECT_STREQ(called.weights, in_memory.weights);
}

// Callbacks may be C++, which throws.
TEST_F(CApiTest, WhatACallbackThrowsIsAnInternalError) {
  const auto run_with = [&](const millrace_callbacks& callbacks) {
    make_trainer();
    millrace_error* error = nullptr;
    EXPECT_EQ(millrace_trainer_run(trainer_, &callbacks, nullptr, &error), MILLRACE_ERROR_INTERNAL);
    millrace_trainer_free(std::exchange(trainer_, nullptr));
    return text_of(error);
  };
  add_rows();
  millrace_callbacks callbacks = {};
  callbacks.size = sizeof callbacks;
  callbacks.on_step = [](void*, const millrace_step*) { throw 5; };
  EXPECT_EQ(run_with(callbacks), "an exception of unknown type");
  callbacks.on_step = [](void*, const millrace_step*) { throw std::runtime_error("enough"); };
  EXPECT_EQ(run_with(callbacks), "enough");

  millrace_catalog_free(catalog_);
  EXPECT_DONE(millrace_catalog_new(&catalog_, &error));
  const millrace_fill fill = [](void*, uint32_t, int64_t, void* const*) -> int64_t { throw 5; };
  EXPECT_DONE(millrace_catalog_add_callback(catalog_, "mine", kFields, 2, 77, fill, nullptr, &error));
  callbacks.on_step = nullptr;
  EXPECT_EQ(run_with(callbacks), "c.yaml:4:5: mine: an exception of unknown type");
}

TEST_F(CApiTest, TellsOfValidations) {
  add_rows();
  const char* settings[] = {"validation={every: 100, input: [{mine: {epochs: 1}}, {batch: {batch_size: 50}}]}"};
  EXPECT_DONE(millrace_trainer_from_string(kConfig, "c.yaml", settings, 1, catalog_, &trainer_, &error));
  std::vector<millrace_validation> told;
  millrace_callbacks callbacks = {};
  callbacks.size = sizeof callbacks;
  callbacks.user = &told;
  callbacks.on_validation = [](void* user, const millrace_validation* validation) {
    static_cast<std::vector<millrace_validation>*>(user)->push_back(*validation);
  };
  EXPECT_EQ(millrace_trainer_steps(trainer_), 0);
  EXPECT_DONE(millrace_trainer_run(trainer_, &callbacks, nullptr, &error));
  EXPECT_EQ(millrace_trainer_steps(trainer_), 800);
  ASSERT_EQ(told.size(), 8u);
  EXPECT_EQ(told[0].step, 100);
  EXPECT_EQ(told[0].rows, 400u);
  EXPECT_EQ(told[0].best, 1);
  EXPECT_LT(told[7].loss, told[0].loss);

  // Who was built when there was no such member.
  millrace_trainer_free(std::exchange(trainer_, nullptr));
  EXPECT_DONE(millrace_trainer_from_string(kConfig, "c.yaml", settings, 1, catalog_, &trainer_, &error));
  callbacks.size = offsetof(millrace_callbacks, on_validation);
  EXPECT_DONE(millrace_trainer_run(trainer_, &callbacks, nullptr, &error));
  EXPECT_EQ(told.size(), 8u);
}

TEST_F(CApiTest, ACallbackMayFail) {
  Source source{.points = points_, .labels = labels_, .fails_at = 3};
  EXPECT_DONE(millrace_catalog_add_callback(catalog_, "mine", kFields, 2, 100, Source::fill, &source, &error));
  make_trainer();
  millrace_error* error = nullptr;
  EXPECT_EQ(millrace_trainer_run(trainer_, nullptr, nullptr, &error), MILLRACE_ERROR_DATA);
  EXPECT_NE(text_of(error).find("the callback of mine failed: it returned -5"), std::string::npos);
  EXPECT_EQ(millrace_trainer_steps(nullptr), 0);
}

// Stops its trainer where it is told to, by another thread too, which it waits for.
struct Stopping {
  millrace_trainer* trainer = nullptr;
  std::string where;
  bool apart = false;
  std::atomic<int> stops{0};

  void reach(const std::string& place) {
    if (place != where || stops++ > 0) return;
    if (!apart) return millrace_trainer_stop(trainer);
    std::thread([this] { millrace_trainer_stop(trainer); }).join();
  }
  static int64_t fill(void* user, uint32_t, int64_t room, void* const* values) {
    static_cast<Stopping*>(user)->reach("fill");
    std::fill_n(static_cast<float*>(values[0]), 2 * room, 0.5f);
    std::fill_n(static_cast<float*>(values[1]), room, 1.0f);
    return room;
  }
};

TEST_F(CApiTest, EveryCallbackMayStop) {
  millrace_callbacks callbacks = {};
  callbacks.size = sizeof callbacks;
  callbacks.on_step = [](void* user, const millrace_step*) { static_cast<Stopping*>(user)->reach("on_step"); };
  callbacks.on_log = [](void* user, const char*) { static_cast<Stopping*>(user)->reach("on_log"); };
  callbacks.on_validation = [](void* user, const millrace_validation*) {
    static_cast<Stopping*>(user)->reach("on_validation");
  };
  Stopping stopping;
  callbacks.user = &stopping;
  EXPECT_DONE(millrace_catalog_add_callback(catalog_, "endless", kFields, 2, 50, Stopping::fill, &stopping, &error));
  add_rows();
  const char* settings[] = {"input=[{endless: {epochs: 1000}}, {print: {every: 100}}, {batch: {batch_size: 20}}]",
                            "validation={every: 3, input: [{mine: {epochs: 1}}, {batch: {batch_size: 50}}]}"};
  for (const char* where : {"fill", "on_step", "on_log", "on_validation"}) {
    for (const bool apart : {false, true}) {
      EXPECT_DONE(millrace_trainer_from_string(kConfig, "c.yaml", settings, 2, catalog_, &trainer_, &error));
      stopping.trainer = trainer_;
      stopping.where = where;
      stopping.apart = apart;
      stopping.stops = 0;
      millrace_result result = {};
      result.size = sizeof result;
      EXPECT_DONE(millrace_trainer_run(trainer_, &callbacks, &result, &error));
      EXPECT_STREQ(result.reason, "stopped") << where;
      EXPECT_GT(stopping.stops, 0) << where;
      millrace_trainer_free(std::exchange(trainer_, nullptr));
    }
  }
}

TEST_F(CApiTest, StopsFromAnotherThread) {
  add_rows();
  const char* settings[] = {"input.mine.epochs=100000000", "train.log_every=1"};
  EXPECT_DONE(millrace_trainer_from_string(kConfig, "c.yaml", settings, 2, catalog_, &trainer_, &error));
  std::atomic<bool> began = false;
  millrace_callbacks callbacks = {};
  callbacks.size = sizeof callbacks;
  callbacks.user = &began;
  std::thread stopper([&] {
    began.wait(false);
    millrace_trainer_stop(trainer_);
  });
  callbacks.on_step = [](void* user, const millrace_step*) {
    auto& flag = *static_cast<std::atomic<bool>*>(user);
    flag = true;
    flag.notify_one();
  };
  millrace_result result = {};
  result.size = sizeof result;
  EXPECT_DONE(millrace_trainer_run(trainer_, &callbacks, &result, &error));
  stopper.join();
  EXPECT_STREQ(result.reason, "stopped");
}

// A table of a number and two columns of texts, whose label is a text.
class CTextsTest : public CApiTest {
 protected:
  static constexpr int kRows = 60;
  static constexpr millrace_field kTable[] = {
      {"size", MILLRACE_FLOAT32, 1}, {"colours", MILLRACE_TEXT, 2}, {"kind", MILLRACE_TEXT, 1}};
  static constexpr auto kTexts = R"(
device: cpu
input:
  - mine: {epochs: 20}
  - vocabulary: {field: colours, texts: [red, green], as: codes, unknown: code}
  - one_hot: {field: codes, classes: 3, as: colours_hot}
  - vocabulary: {field: kind, texts: [apple, lemon, plum], as: label}
  - batch: {batch_size: 20}
model:
  - concat: {from: [size, colours_hot]}
  - dense: {units: 3}
loss: softmax_cross_entropy
metrics: [accuracy]
optimizer: {adam: {learning_rate: 0.05}}
)";
  CTextsTest() {
    static const char* const colours[] = {"red", "green", nullptr, "blue"};
    static const char* const kinds[] = {"apple", "lemon", "plum"};
    for (int row = 0; row < kRows; ++row) {
      sizes_.push_back(static_cast<float>(row % 3));
      colours_.push_back(colours[row % 4]);
      colours_.push_back(colours[row % 3]);
      kinds_.push_back(kinds[row % 3]);
    }
  }
  std::string train() {
    EXPECT_DONE(millrace_trainer_from_string(kTexts, "c.yaml", nullptr, 0, catalog_, &trainer_, &error));
    millrace_result result = {};
    result.size = sizeof result;
    EXPECT_DONE(millrace_trainer_run(trainer_, nullptr, &result, &error));
    EXPECT_EQ(result.rows, 20u * kRows);
    return result.weights;
  }
  std::string train_in_memory() {
    const void* values[] = {sizes_.data(), colours_.data(), kinds_.data()};
    EXPECT_DONE(millrace_catalog_add_rows(catalog_, "mine", kTable, 3, kRows, values, &error));
    return train();
  }

  std::vector<float> sizes_;
  std::vector<const char*> colours_, kinds_;
};

TEST_F(CTextsTest, TrainAndPredictAndGiveTheTextOfTheClass) {
  train_in_memory();
  EXPECT_DONE(millrace_trainer_network(trainer_, &network_, &error));
  ASSERT_EQ(millrace_network_field_count(network_), 2u);
  EXPECT_EQ(millrace_network_field(network_, 0).type, MILLRACE_FLOAT32);
  EXPECT_STREQ(millrace_network_field(network_, 1).name, "colours");
  EXPECT_EQ(millrace_network_field(network_, 1).type, MILLRACE_TEXT);
  EXPECT_EQ(millrace_network_field(network_, 1).width, 2);

  ASSERT_EQ(millrace_network_outputs(network_), 3);
  ASSERT_EQ(millrace_network_choices(network_), 1);
  EXPECT_EQ(millrace_network_class_count(network_), 3u);
  const void* values[] = {sizes_.data(), colours_.data()};
  std::vector<float> outputs(3 * kRows);
  EXPECT_DONE(millrace_network_predict(network_, values, kRows, outputs.data(), &error));
  std::vector<int64_t> classes(kRows);
  std::vector<double> probabilities(3 * kRows);
  EXPECT_DONE(millrace_network_answer(network_, outputs.data(), kRows, classes.data(), probabilities.data(), &error));
  int right = 0;
  for (size_t row = 0; row < kRows; ++row) {
    right += std::string(millrace_network_class(network_, classes[row])) == kinds_[row] ? 1 : 0;
    const double* of_row = &probabilities[3 * row];
    EXPECT_NEAR(of_row[0] + of_row[1] + of_row[2], 1, 1e-12);
    for (int64_t other = 0; other < 3; ++other) EXPECT_LE(of_row[other], of_row[classes[row]]);
  }
  EXPECT_EQ(right, kRows);
  EXPECT_DONE(millrace_network_answer(network_, outputs.data(), kRows, nullptr, nullptr, &error));
  EXPECT_STREQ(millrace_network_class(network_, 3), "");
  EXPECT_STREQ(millrace_network_class(network_, -1), "");
  EXPECT_STREQ(millrace_network_class(nullptr, 0), "");
  EXPECT_EQ(millrace_network_class_count(nullptr), 0u);
  EXPECT_EQ(millrace_network_choices(nullptr), 0);

  // A missing text is the empty one here, as no reader of text has a default.
  const char* const some[] = {nullptr, "red", "", "red"};
  const void* two[] = {sizes_.data(), some};
  sizes_[1] = sizes_[0];
  EXPECT_DONE(millrace_network_predict(network_, two, 2, outputs.data(), &error));
  EXPECT_EQ(std::vector<float>(outputs.begin(), outputs.begin() + 3),
            std::vector<float>(outputs.begin() + 3, outputs.begin() + 6));
}

TEST_F(CTextsTest, RowsOfACallbackTrainAsThoseInMemory) {
  const std::string expected = train_in_memory();
  millrace_trainer_free(std::exchange(trainer_, nullptr));
  millrace_catalog_free(std::exchange(catalog_, nullptr));
  EXPECT_DONE(millrace_catalog_new(&catalog_, &error));
  struct Table {
    const std::vector<float>& sizes;
    const std::vector<const char*>&colours, &kinds;
    int64_t at = 0;
    std::vector<std::string> given = {};  // until the next call

    static int64_t fill(void* user, uint32_t, int64_t room, void* const* values) {
      auto& self = *static_cast<Table*>(user);
      const int64_t count = std::min<int64_t>(room, kRows - self.at);
      auto* texts = static_cast<const char**>(values[1]);
      auto* labels = static_cast<const char**>(values[2]);
      self.given.assign(static_cast<size_t>(3 * count), "");
      for (int64_t row = 0; row < count; ++row, ++self.at) {
        const auto from = static_cast<size_t>(self.at), to = static_cast<size_t>(row);
        static_cast<float*>(values[0])[row] = self.sizes[from];
        for (size_t i = 0; i < 2; ++i) {
          if (self.colours[2 * from + i] == nullptr) continue;  // not written
          texts[2 * to + i] = (self.given[3 * to + i] = self.colours[2 * from + i]).c_str();
        }
        labels[row] = (self.given[3 * to + 2] = self.kinds[from]).c_str();
      }
      if (count == 0) self.at = 0;
      return count;
    }
  } table{sizes_, colours_, kinds_};
  EXPECT_DONE(millrace_catalog_add_callback(catalog_, "mine", kTable, 3, 7, Table::fill, &table, &error));
  EXPECT_EQ(train(), expected);
}

TEST_F(CTextsTest, WhatCannotBeGivenIsRefused) {
  const std::string data = folder_.write("w.csv", "a b,1\nb,0\n");
  const std::string config =
      cat("device: cpu\ninput:\n- filename_queue: {files: ", quote(data, 4096), ", epochs: 1}\n- csv_reader\n",
          "- decode_csv: {fields: {words: {columns: 0, type: string, split: \" \"}, label: {columns: 1}}}\n",
          "- pad: {length: 2}\n- vocabulary: {field: words, texts: [\"\", a, b], as: codes}\n",
          "- one_hot: {field: codes, classes: 3, as: features}\n- batch: {batch_size: 1}\n",
          "model: [{dense: {units: 1}}]\nloss: mse\noptimizer: {sgd: {learning_rate: 0.1}}\n");
  EXPECT_DONE(millrace_trainer_from_string(config.c_str(), "c.yaml", nullptr, 0, nullptr, &trainer_, &error));
  EXPECT_DONE(millrace_trainer_run(trainer_, nullptr, nullptr, &error));
  EXPECT_DONE(millrace_trainer_network(trainer_, &network_, &error));
  EXPECT_EQ(millrace_network_field(network_, 0).type, MILLRACE_TEXT);
  EXPECT_EQ(millrace_network_field(network_, 0).width, 0) << "any number";
  // An amount has no class.
  EXPECT_EQ(millrace_network_choices(network_), 0);
  float output = 0.25f;
  double value = 0;
  EXPECT_DONE(millrace_network_answer(network_, &output, 1, nullptr, &value, &error));
  EXPECT_EQ(value, 0.25);

  const char* const texts[] = {"a"};
  const void* values[] = {texts};
  millrace_error* error = nullptr;
  EXPECT_EQ(millrace_network_predict(network_, values, 1, &output, &error), MILLRACE_ERROR_ARGUMENT);
  EXPECT_EQ(text_of(error), "the field words is string (ragged), which C cannot give");
  EXPECT_EQ(millrace_network_answer(network_, nullptr, 1, nullptr, nullptr, &error), MILLRACE_ERROR_ARGUMENT);
  EXPECT_EQ(text_of(error), "outputs is NULL");
  EXPECT_EQ(millrace_network_answer(nullptr, &output, 1, nullptr, nullptr, &error), MILLRACE_ERROR_ARGUMENT);
  EXPECT_EQ(text_of(error), "network is NULL");
  EXPECT_EQ(millrace_network_answer(network_, &output, -1, nullptr, nullptr, &error), MILLRACE_ERROR_ARGUMENT);
  EXPECT_EQ(text_of(error), "there are -1 rows");
}

}  // namespace
}  // namespace millrace
