#include "millrace/trainer/predict/text_network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <thread>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

constexpr const char* kCells[] = {"31,Rome", ",", "12.5,\"a, b\"", "?,Oslo", "-0,Rome", "1e1,", "nan,Oslo", " 7 ,Rome"};

class TextNetworkTest : public ::testing::Test {
 protected:
  TextNetworkTest() {
    std::string text = "age,city,sold\n";
    for (int i = 0; i < 100; ++i) text += cat(i % 50, ',', i % 3 == 0 ? "Rome" : "Oslo", ',', i % 2, '\n');
    folder_.write("train.csv", text);
    Trainer::from_string(
        cat("seed: 3\ndevice: cpu\ninput:\n- filename_queue: {files: ", quote(folder_.path("train.csv"), 4096), "}\n",
            "- csv_reader: {header: true}\n- decode_csv: {missing: [\"?\"], fields: {age: {columns: age, default: "
            "30}, ",
            "city: {columns: city, type: string, default: \"\"}, label: {columns: sold}}}\n",
            "- vocabulary: {field: city, texts: [Rome, Oslo], as: code, unknown: code}\n",
            "- one_hot: {field: code, classes: 3, as: where}\n- normalize: {fields: age, mean: 25, std: 10}\n",
            "- batch: {batch_size: 8}\nmodel:\n- concat: {from: [age, where]}\n- dense: {units: 4, activation: tanh}\n",
            "- dense: {units: 1}\nloss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.1}}\n",
            "train: {steps: 20}\nsave: ", model_, '\n'),
        "t.yaml")
        .run();
  }

  static std::vector<float> predict(const TextNetwork& network, const std::vector<std::string>& cells,
                                    TextNetwork::Memory& memory) {
    std::string text;
    std::vector<uint64_t> begins;
    for (const std::string& row : cells) {
      begins.push_back(text.size());
      text += row + '\n';
    }
    RowBlock rows;
    network.decode({.text = text, .begins = begins}, 0, rows, memory);
    std::vector<float> out(cells.size());
    network.predict(rows, out);
    return out;
  }

  std::vector<float> predicted() {
    std::string text = "age,city\n";
    for (const char* row : kCells) text += cat(row, '\n');
    folder_.write("new.csv", text);
    Predictor predictor({.model = model_, .data = {folder_.path("new.csv")}});
    std::vector<float> out;
    while (const RowBlock* batch = predictor.next()) {
      for (int64_t row = 0; row < batch->size(); ++row) out.push_back(predictor.output(row)[0]);
    }
    return out;
  }

  TempFolder folder_;
  std::string model_ = folder_.path("m.safetensors");
};

TEST_F(TextNetworkTest, GivesWhatPredictGives) {
  const TextNetwork network(ModelFile::read(model_), {}, Catalog::builtin());
  TextNetwork::Memory memory;
  const std::vector<float> expected = predicted();
  const std::vector<float> got = predict(network, {std::begin(kCells), std::end(kCells)}, memory);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << kCells[i];
    } else {
      EXPECT_EQ(got[i], expected[i]) << kCells[i];
    }
  }
  EXPECT_EQ(network.answers(0.5).kind(), PredictionKind::yes_or_no);
  EXPECT_EQ(network.outputs(), 1);
}

TEST_F(TextNetworkTest, ServesManyThreads) {
  const TextNetwork network(ModelFile::read(model_), {}, Catalog::builtin());
  TextNetwork::Memory first;
  const std::vector<std::string> row = {"31,Rome"};
  const float expected = predict(network, row, first)[0];
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      TextNetwork::Memory memory;
      for (int turn = 0; turn < 100; ++turn) EXPECT_EQ(predict(network, row, memory)[0], expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(TextNetworkTest, HeedsWhatDecidesTheAnswersOnly) {
  const auto load = [&](const std::string& setting) {
    const TextNetwork network(ModelFile::read(model_), {.overrides = {setting}}, Catalog::builtin());
  };
  load("input.decode_csv.fields.age.default=20");
  load("device=cpu");
  EXPECT_NE(error_of<ConfigError>([&] { load("train.steps=3"); }), "");
}

}  // namespace
}  // namespace millrace
