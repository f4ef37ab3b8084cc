#include "millrace/trainer/predict/network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/source.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/model_file.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "millrace/trainer/predict/answers.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/host_mode.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

// Three features and a label; normalised on the way.
class NetworkTest : public ::testing::Test {
 protected:
  NetworkTest() {
    for (int i = 0; i < 300; ++i) {
      const std::string features = cat(i % 7 - 3, ',', i % 5 - 2, ',', 0.25 * (i % 11));
      text_ += cat(features, ',', i % 7 + i % 5 > 5 ? 1 : 0, '\n');
      for (const double value : {i % 7 - 3.0, i % 5 - 2.0, 0.25 * (i % 11)})
        values_.push_back(static_cast<float>(value));
    }
    data_ = folder_.write("train.csv", text_);
  }

  Trainer train(const std::string& ops, const std::string& decode = "features: {columns: 0-2}, label: {columns: 3}",
                const std::string& after_the_batch = {}) {
    Trainer trainer = Trainer::from_string(
        cat("seed: 3\ndevice: cpu\ninput:\n- filename_queue: {files: ", quote(data_, 4096), ", epochs: 2}\n",
            "- csv_reader\n- decode_csv: {fields: {", decode, "}}\n", ops,
            "- shuffle_batch: {batch_size: 16, capacity: 60, min_after_dequeue: 30}\n", after_the_batch,
            "model:\n- dense: {units: 5, activation: tanh}\n- dropout: 0.5\n- dense: {units: 2}\n",
            "loss: softmax_cross_entropy\noptimizer: {sgd: {learning_rate: 0.1}}\n"),
        "t.yaml");
    trainer.run();
    trainer.save(model_);
    return trainer;
  }

  // What the pass over the file says, row by row.
  std::vector<float> predicted() const {
    std::vector<float> out;
    Predictor predictor({.model = model_, .data = {data_}, .overrides = {"input.shuffle_batch.batch_size=1"}});
    while (predictor.next() != nullptr) {
      const std::span<const float> row = predictor.output(0);
      out.insert(out.end(), row.begin(), row.end());
    }
    return out;
  }

  // Writes the model file again, with other metadata.
  void write_with(const ModelMetadata& metadata) const {
    const ModelFile file = ModelFile::read(model_);
    ModelFile changed(model_, metadata);
    for (const ModelFile::Entry& entry : file.entries()) {
      std::memcpy(changed.add(entry.name, entry.spec).data(), entry.values.data(), entry.values.bytes());
    }
    changed.write();
  }

  static void expect_near(const std::vector<float>& got, const std::vector<float>& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5) << i;
  }

  TempFolder folder_;
  std::string text_, data_, model_ = folder_.path("m.safetensors");
  std::vector<float> values_;
};

constexpr auto kNormalize = "- normalize: {fields: features, mean: [0, 0, 1.25], std: [2, 1.5, 0.8]}\n";

TEST_F(NetworkTest, GivesWhatAPassOverTheFileGives) {
  for (const std::string ops : {"", kNormalize, "- hold_out: {share: 0.3}\n"}) {
    train(ops);
    const Network network = Network::load(model_);
    EXPECT_EQ(network.fields().text(), "features: float32 (3)");
    EXPECT_EQ(network.output().text(), "float32 (2)");
    EXPECT_EQ(network.config().loss.kind, "softmax_cross_entropy");
    const std::vector<float> expected = predicted();
    expect_near(network.predict(values_), expected);
    // One row alone is the same computation as a batch of one.
    const std::span<const float> row = std::span(values_).subspan(3 * 17, 3);
    const std::vector<float> alone = network.predict(row);
    ASSERT_EQ(alone.size(), 2u);
    EXPECT_EQ(alone[0], expected[34]);
    EXPECT_EQ(alone[1], expected[35]);
    // Any number of rows, around the sizes that are planned.
    for (const size_t rows : {0u, 1u, 2u, 3u, 5u, 255u, 256u, 257u}) {
      const std::vector<float> some = network.predict(std::span(values_).first(3 * rows));
      expect_near(some, {expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(2 * rows)});
      EXPECT_EQ(some, network.predict(std::span(values_).first(3 * rows))) << "twice the same bits";
    }
  }
}

TEST_F(NetworkTest, RefusesOverridesThatChangeNothing) {
  train(kNormalize);
  const auto load = [&](const std::string& setting) {
    return error_of<ConfigError>([&] { Network::load(model_, {.overrides = {setting}}); });
  };
  for (const char* setting : {"threads=2", "train.steps=1", "metrics=[accuracy]", "input.shuffle_batch.batch_size=3",
                              "input.decode_csv.on_bad_row=skip", "input.filename_queue.files=x.csv"}) {
    EXPECT_EQ(load(setting), cat("--set ", setting,
                                 ": the setting changes nothing here; a Network reads no data, and has its threads "
                                 "from NetworkOptions"));
  }
  for (const char* setting : {"device=auto", "precision=tf32", "input.normalize.mean=[0, 0, 0]", "seed=5"}) {
    EXPECT_NO_THROW(Network::load(model_, {.overrides = {setting}})) << setting;
  }
}

TEST_F(NetworkTest, TransformsMayStandAfterTheBatch) {
  train("- take: {rows: 200}\n", "features: {columns: 0-2}, label: {columns: 3}", kNormalize);
  const std::vector<float> given = Network::load(model_).predict(values_);
  expect_near(predicted(), given);
  const auto load = [&](const std::string& setting) { return Network::load(model_, {.overrides = {setting}}); };
  EXPECT_NE(load("input.normalize.mean=[0, 0, 0]").predict(values_), given);
  EXPECT_NE(error_of<ConfigError>([&] { load("input.shuffle_batch.batch_size=3"); }).find("changes nothing here"),
            std::string::npos);
  EXPECT_NE(error_of<ConfigError>([&] { load("input.take.rows=3"); }).find("changes nothing here"), std::string::npos);
}

TEST_F(NetworkTest, OfATrainerIsItsModelAsItIs) {
  Trainer trainer = train(kNormalize);
  const Network network = trainer.network();
  EXPECT_EQ(network.predict(values_), Network::load(model_).predict(values_));
  const TensorView bias = trainer.model().parameter(trainer.model().parameters().size() - 1);
  const std::vector<float> before = network.predict(values_);
  bias.as<float>()[0] += 1;
  EXPECT_EQ(network.predict(values_), before) << "it is a copy";
  EXPECT_NEAR(trainer.network().predict(values_)[0], before[0] + 1, 1e-5);
}

TEST_F(NetworkTest, TakesRowsOfSeveralFields) {
  Trainer trainer = Trainer::from_string(
      cat("device: cpu\ninput:\n- filename_queue: {files: ", quote(data_, 4096), ", epochs: 1}\n- csv_reader\n",
          "- decode_csv: {fields: {features: {columns: 0-2}, label: {columns: 3}, flag: {columns: 3, type: int32}}}\n",
          "- one_hot: {field: flag, classes: 2, as: flags}\n- batch: {batch_size: 20}\nmodel:\n",
          "- dense: {name: a, units: 2, from: features}\n- dense: {name: b, units: 2, from: flags}\n- add: {from: [a, "
          "b]}\n",
          "- dense: {units: 1}\nloss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.1}}\n"),
      "t.yaml");
  trainer.run();
  const Network network = trainer.network();
  // The label is not needed, and of the flag what the file holds.
  EXPECT_EQ(network.fields().text(), "features: float32 (3), flag: int32 (1)");
  RowBlock rows = network.make_rows(2);
  for (int64_t row = 0; row < 2; ++row) {
    std::copy_n(values_.begin(), 3, rows.row<float>(0, row));
    *rows.row<int32_t>(1, row) = static_cast<int32_t>(row);
  }
  std::vector<float> outputs(2);
  network.predict(rows, outputs);
  EXPECT_NE(outputs[0], outputs[1]);
  *rows.row<int32_t>(1, 0) = 1;
  std::vector<float> same(2);
  network.predict(rows, same);
  EXPECT_EQ(same[0], same[1]);
  EXPECT_EQ(same[1], outputs[1]);
  *rows.row<int32_t>(1, 1) = 2;
  EXPECT_NE(error_of<DataError>([&] { network.predict(rows, same); }).find("row 1: "), std::string::npos);
}

TEST_F(NetworkTest, SaysWhichRowsAreRefused) {
  train("- filter: {field: first, op: \">\", value: -3}\n",
        "features: {columns: 0-2}, first: {columns: 0}, label: {columns: 3}");
  const Network network = Network::load(model_);
  // The filter looks at a field that the model does not read, so nothing is left out here.
  EXPECT_EQ(network.fields().text(), "features: float32 (3), first: float32 (1)");
  RowBlock rows = network.make_rows(300);
  for (int64_t row = 0; row < 300; ++row) {
    for (int64_t i = 0; i < 3; ++i) rows.row<float>(0, row)[i] = 0;
    *rows.row<float>(1, row) = row == 280 ? -3.0f : 1.0f;
  }
  std::vector<float> outputs(600);
  EXPECT_NE(error_of<DataError>([&] { network.predict(rows, outputs); }).find("row 280 was left out by filter"),
            std::string::npos);
  *rows.row<float>(1, 280) = 0;
  network.predict(rows, outputs);
  EXPECT_NE(error_of<ShapeError>([&] { network.predict(values_); }).find("not one field of float32 or uint8"),
            std::string::npos);
}

TEST_F(NetworkTest, ChecksWhatItIsGiven) {
  train("");
  const Network network = Network::load(model_);
  EXPECT_EQ(error_of<ShapeError>([&] { network.predict(std::span(values_).first(4)); }), "a row has 3 values, got 4");
  std::vector<float> outputs(3);
  EXPECT_EQ(error_of<ShapeError>([&] { network.predict(std::span(values_).first(6), outputs); }),
            "there is room for 3 outputs, 2 rows of float32 (2) give 4");
  RowBlock other;
  other.configure({{{"features", DType::f32, Shape{4}}}}, 1);
  other.resize(1);
  EXPECT_EQ(error_of<ShapeError>([&] { network.predict(other, outputs); }),
            "the rows are (features: float32 (4)), the model reads (features: float32 (3))");
  EXPECT_NE(error_of<MissingError>([&] { Network::load(folder_.path("none")); }).find("none"), std::string::npos);
  EXPECT_NE(error_of<DataError>([&] { Network::load(model_, {.max_bytes = 64}); }).find("a row would take"),
            std::string::npos);
}

TEST_F(NetworkTest, NeedsAFileThatSaysWhatItsRowsAre) {
  train("");
  ModelMetadata metadata = ModelFile::read(model_).metadata();
  metadata.erase("rows");
  write_with(metadata);
  EXPECT_NE(error_of<DataError>([&] { Network::load(model_); }).find("does not say what its rows look like"),
            std::string::npos);
  metadata["rows"] = "- {name: features, type: float32, shape: [2]}";
  write_with(metadata);
  EXPECT_NE(error_of<DataError>([&] { Network::load(model_); }).find("dense.weight is float32 (5, 3)"),
            std::string::npos);
  metadata["rows"] = "- {name: features, type: float32, shape: [10000000000]}";
  write_with(metadata);
  EXPECT_NE(error_of<DataError>([&] { Network::load(model_); }).find("a row would take 40000000000 bytes"),
            std::string::npos);
  metadata["rows"] = "- {name: other, type: float32, shape: [3]}";
  write_with(metadata);
  EXPECT_THROW(Network::load(model_), ConfigError);
}

// A decoder that does not know rows of a program.
class Refusing final : public Transform {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "throws for rows of a program";
  explicit Refusing(const Options&) {}
  std::vector<PortType> inputs() const override { return {PortType::text}; }
  void apply(Chunk&) const override {}
  std::unique_ptr<Transform> for_given_rows() const override { throw 7; }
};

TEST_F(NetworkTest, AnOpThatThrowsForRowsOfAProgramIsNamed) {
  train("");
  ModelMetadata metadata = ModelFile::read(model_).metadata();
  Spec config = parse_yaml(metadata.at("config"), "saved");
  Spec ops = Spec::list();
  for (const Spec& op : config.find("input")->items()) {
    ops.append(op.is_map() && op.find("decode_csv") != nullptr ? Spec::of("refusing") : op);
  }
  config.set("input", ops);
  metadata["config"] = to_yaml(config);
  write_with(metadata);
  Catalog catalog = Catalog::builtin();
  catalog.add_op<Refusing>("refusing");
  EXPECT_NE(error_of<InternalError>([&] {
              Network::load(model_, {}, catalog);
            }).find("refusing: an exception of unknown type"),
            std::string::npos);
}

TEST_F(NetworkTest, WhereInputsAreJoinedRowsAreThoseBehindTheJoin) {
  // The second input has its features in another order and scaled; nothing of that concerns rows behind the join.
  const auto input = [&](const std::string& name, const std::string& columns, const std::string& more) {
    return cat("- filename_queue: {name: f", name, ", files: ", quote(data_, 4096),
               ", epochs: 2}\n- csv_reader: {name: r", name, "}\n- decode_csv: {name: ", name,
               ", fields: {features: {columns: ", columns, "}, label: {columns: 3}}}\n", more);
  };
  const std::string model =
      "model:\n- dense: {units: 2}\nloss: softmax_cross_entropy\noptimizer: {sgd: {learning_rate: 0.1}}\n";
  const std::string input_list =
      cat("input:\n", input("a", "0-2", ""),
          input("b", "[2, 1, 0]", "- normalize: {name: n, fields: features, mean: 0, std: 9}\n"),
          "- mix: {name: both, from: [a, n]}\n",
          "- normalize: {name: last, from: both, fields: features, mean: 1, std: 2}\n",
          "- batch: {batch_size: 16, from: last}\n");
  Trainer trainer = Trainer::from_string(cat("device: cpu\n", input_list, model), "joined.yaml");
  trainer.run();
  trainer.save(model_);
  const Network network = Network::load(model_);
  EXPECT_EQ(network.fields().text(), "features: float32 (3)");
  const std::vector<float> row = {1, 3, 5};
  const auto* weight = trainer.model().parameter(0).as<float>();
  const auto* bias = trainer.model().parameter(1).as<float>();
  const std::vector<float> expected = {weight[1] + 2 * weight[2] + bias[0], weight[4] + 2 * weight[5] + bias[1]};
  expect_near(network.predict(row), expected);
  expect_near(trainer.network().predict(row), expected);
}

TEST_F(NetworkTest, AFillThatMakesItsBlockAnewIsRefused) {
  train("");
  const Network network = Network::load(model_);
  std::vector<float> outputs(6);
  EXPECT_NE(error_of<ShapeError>([&] {
              network.predict(
                  3,
                  [](RowBlock& block, int64_t, int64_t) {
                    block.configure({{{"x", DType::f32, Shape{1}}}}, 1);
                  },
                  outputs);
            }).find("the block was made anew for (x: float32 (1))"),
            std::string::npos);
  // As one that says how many it wrote.
  network.predict(
      3,
      [&](RowBlock& block, int64_t begin, int64_t count) {
        block.resize(count);
        for (int64_t row = 0; row < count; ++row)
          std::copy_n(values_.begin() + 3 * (begin + row), 3, block.row<float>(0, row));
      },
      outputs);
  EXPECT_EQ(outputs, network.predict(std::span(values_).first(9)));
}

TEST_F(NetworkTest, TrainedOnRowsOfAProgramNeedsNoSuchRows) {
  RowBlock rows;
  rows.configure({{{"a", DType::f32, Shape{2}}, {"label", DType::f32, Shape{1}}}}, 8);
  rows.resize(8);
  for (int64_t row = 0; row < 8; ++row) {
    rows.row<float>(0, row)[0] = static_cast<float>(row);
    rows.row<float>(0, row)[1] = 1;
    *rows.row<float>(1, row) = static_cast<float>(row % 2);
  }
  Catalog catalog = Catalog::builtin();
  catalog.ops.add("my_rows", memory_op(std::make_shared<const RowBlock>(std::move(rows))));
  Trainer trainer = Trainer::from_string(
      "device: cpu\ninput: [{my_rows: {epochs: 1}}, {batch: {batch_size: 4}}]\nmodel: [{dense: {units: 1, from: "
      "a}}]\nloss: mse\n"
      "optimizer: {sgd: {learning_rate: 0.01}}\n",
      "m.yaml", {}, catalog);
  trainer.run();
  trainer.save(model_);
  const Network network = Network::load(model_);
  EXPECT_EQ(network.fields().text(), "a: float32 (2)");
  const ConstTensorView weight = trainer.model().parameter(0), bias = trainer.model().parameter(1);
  const std::vector<float> row = {2, 1};
  EXPECT_NEAR(network.predict(row)[0], 2 * weight.as<float>()[0] + weight.as<float>()[1] + bias.as<float>()[0], 1e-6);
  EXPECT_NO_THROW(Network::load(model_, {.overrides = {"seed=5"}}));
  EXPECT_NE(error_of<ConfigError>([&] {
              Network::load(model_, {.overrides = {"train.steps=5"}});
            }).find("changes nothing here"),
            std::string::npos);
}

TEST_F(NetworkTest, ServesManyThreadsAtOnce) {
  train(kNormalize);
  for (const int threads : {1, 2}) {
    const Network network = Network::load(model_, {.threads = threads});
    std::vector<std::vector<float>> expected;
    for (size_t row = 0; row < 40; ++row) expected.push_back(network.predict(std::span(values_).subspan(3 * row, 3)));
    std::vector<int> wrong(6);
    std::vector<std::thread> callers;
    for (size_t t = 0; t < wrong.size(); ++t) {
      callers.emplace_back([&, t] {
        for (size_t i = 0; i < 400; ++i) {
          const size_t row = (i * 7 + t) % 40;
          if (network.predict(std::span(values_).subspan(3 * row, 3)) != expected[row]) ++wrong[t];
          if (i % 50 == 0 && network.predict(std::span(values_).first(3 * (t + 1))).size() != 2 * (t + 1)) ++wrong[t];
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(wrong, std::vector<int>(6, 0));
  }
}

// Rows of a number, two texts that share a vocabulary, and a text as label; some values are missing.
class NetworkTextsTest : public ::testing::Test {
 protected:
  NetworkTextsTest() {
    std::string text = "age,from,to,kind\n";
    for (int i = 0; i < 60; ++i) {
      text += cat(i % 5 == 0 ? "NA" : cat(i % 7), ',', kPlaces[i % 4], ',', kPlaces[i % 3], ',', kKinds[i % 3], '\n');
    }
    data_ = folder_.write("t.csv", text);
  }

  Network train(const std::string& places = "default: \"\"") {
    Trainer trainer = Trainer::from_string(
        cat("seed: 3\ndevice: cpu\ninput:\n- filename_queue: {files: ", quote(data_, 4096), ", epochs: 3}\n",
            "- csv_reader: {header: true}\n- decode_csv: {missing: [NA], fields: {age: {columns: age, default: "
            "3.25},\n",
            "    places: {columns: [from, to], type: string, ", places, "}, kind: {columns: kind, type: string}}}\n",
            "- vocabulary: {field: places, texts: [north, \"\", south], as: codes, unknown: code}\n",
            "- one_hot: {field: codes, classes: 4, as: places_hot}\n",
            "- vocabulary: {field: kind, texts: [tall, small, wide], as: label}\n- batch: {batch_size: 1}\nmodel:\n",
            "- concat: {from: [age, places_hot]}\n- dense: {units: 3}\nloss: softmax_cross_entropy\n",
            "optimizer: {sgd: {learning_rate: 0.05}}\n"),
        "t.yaml");
    trainer.run();
    trainer.save(model_);
    return Network::load(model_);
  }

  static constexpr const char* kPlaces[] = {"north", "south", "", "elsewhere"};
  static constexpr const char* kKinds[] = {"small", "tall", "wide"};
  TempFolder folder_;
  std::string data_, model_ = folder_.path("m.safetensors");
};

TEST_F(NetworkTextsTest, GiveWhatAPassOverTheFileGives) {
  const Network network = train();
  ASSERT_EQ(network.fields().text(), "age: float32 (1), places: string (2)");
  Predictor predictor({.model = model_, .data = {data_}});
  for (int i = 0; i < 60; ++i) {
    ASSERT_NE(predictor.next(), nullptr);
    RowBlock rows = network.make_rows(1);
    *rows.row<float>(0, 0) = i % 5 == 0 ? NAN : static_cast<float>(i % 7);
    rows.set_text(1, 0, kPlaces[i % 4]);
    rows.add_text(1, 0, kPlaces[i % 3]);
    std::vector<float> outputs(3);
    network.predict(rows, outputs);
    const std::span<const float> expected = predictor.output(0);
    EXPECT_EQ(outputs, std::vector<float>(expected.begin(), expected.end())) << i;
  }
}

TEST_F(NetworkTextsTest, BlocksAreUsedAgainAndTextsThatAreNotSetAreMissing) {
  const Network network = train();
  const auto predict = [&](const std::vector<std::string>& texts) {
    std::vector<float> outputs(3 * 300);
    network.predict(
        300,
        [&](RowBlock& block, int64_t, int64_t count) {
          for (int64_t row = 0; row < count; ++row) {
            *block.row<float>(0, row) = 1;
            EXPECT_EQ(block.varying(1, row).texts(), 0u);
            for (const std::string& text : texts) block.add_text(1, row, text);
          }
        },
        outputs);
    for (size_t i = 3; i < outputs.size(); ++i) EXPECT_EQ(outputs[i], outputs[i - 3]) << i;
    return outputs;
  };
  EXPECT_EQ(predict({"north", "south"}), predict({"north", "south"}));
  EXPECT_NE(predict({"north", "south"}), predict({"south", "north"}));
  EXPECT_EQ(predict({}), predict({"", ""}));
  EXPECT_EQ(predict({"NA", "north"}), predict({"", "north"})) << "as in text";
  EXPECT_EQ(predict({"moon", "north"}), predict({"sun", "north"})) << "both are unknown";
  EXPECT_NE(predict({"moon", "north"}), predict({"", "north"}));
  EXPECT_EQ(error_of<ShapeError>([&] { predict({"north"}); }),
            "row 0 has 1 text in the field places, which is string (2)");
}

TEST_F(NetworkTextsTest, ATextThatIsNeededIsAnErrorOfItsRow) {
  std::string text = TempFolder::read(data_);
  for (size_t at; (at = text.find(",,")) != text.npos;) text.insert(at + 1, "north");
  data_ = folder_.write("t.csv", text);
  const Network network = train("missing: []");
  RowBlock rows = network.make_rows(3);
  std::vector<float> outputs(9);
  for (int64_t row = 0; row < 3; ++row) {
    *rows.row<float>(0, row) = 1;
    rows.set_text(1, row, "north");
    rows.add_text(1, row, row == 2 ? "" : "south");
  }
  EXPECT_EQ(error_of<DataError>([&] { network.predict(rows, outputs); }),
            "row 2: the field places lacks a text, and has no default");
  rows.set_text(1, 2, "north");
  rows.add_text(1, 2, "south");
  network.predict(rows, outputs);
  EXPECT_EQ(outputs[6], outputs[0]);
}

TEST_F(NetworkTextsTest, AnswersHaveTheClassesOfTheLabel) {
  const Network network = train();
  EXPECT_EQ(network.classes(), (std::vector<std::string>{"tall", "small", "wide"}));
  const Answer answer = network.answer(std::vector<float>{1, 3, 1});
  EXPECT_EQ(answer.classes, std::vector<int64_t>{1});
  EXPECT_EQ(answer.texts, std::vector<std::string>{"small"});
  ASSERT_EQ(answer.values.size(), 3u);
  EXPECT_NEAR(answer.values[1], 1 / (1 + 2 * std::exp(-2)), 1e-9);
  EXPECT_EQ(error_of<ShapeError>([&] { network.answer(std::vector<float>{1}); }),
            "expected the 3 outputs of a row, got 1");
}

TEST_F(NetworkTextsTest, AnswersAreTheSameInEveryFloatingPointMode) {
  const Network network = train();
  const std::vector<float> outputs = {1, 3, 1.7f};
  const std::vector<double> expected = network.answer(outputs).values;
  for (const int rounding : test::HostMode::roundings()) {
    std::vector<double> got;
    {
      const test::HostMode host(rounding);
      got = network.answer(outputs).values;
    }
    EXPECT_EQ(got, expected) << rounding;
  }
}

// A time is given as its seconds, and nobody needs the group that decided what was held out.
TEST_F(NetworkTest, TakesTimesAsSeconds) {
  std::string text = "when,customer,y\n";
  for (int i = 0; i < 60; ++i) {
    text += cat(1 + i % 28, '/', 1 + i % 12, "/2024 ", i % 24, ":30,", i % 9, ',', i % 24 < 12 ? 0 : 1, '\n');
  }
  data_ = folder_.write("times.csv", text);
  Trainer trainer = Trainer::from_string(
      cat("seed: 3\ndevice: cpu\ninput:\n- filename_queue: {files: ", quote(data_, 4096), ", epochs: 3}\n",
          "- csv_reader: {header: true}\n- decode_csv: {fields: {customer: {columns: customer, type: int32},\n",
          "    when: {columns: when, type: timestamp, format: \"%d/%m/%Y %H:%M\", default: \"1/1/2024 00:00\"},\n",
          "    label: {columns: y, type: int32}}}\n- hold_out: {group: customer}\n",
          "- calendar: {field: when, as: parts, features: [hour_sin, hour_cos, weekday]}\n- batch: {batch_size: 1}\n",
          "model:\n- dense: {from: parts, units: 2}\nloss: softmax_cross_entropy\n",
          "optimizer: {sgd: {learning_rate: 0.05}}\n"),
      "t.yaml");
  trainer.run();
  trainer.save(model_);
  const Network network = Network::load(model_);
  ASSERT_EQ(network.fields().text(), "when: float64 (1)");
  const std::string fresh = folder_.write("fresh.csv", "when\n31/1/2024 23:15\n\"\"\n29/2/2024 6:00\n");
  Predictor predictor({.model = model_, .data = {fresh}});
  for (const double when : {1706742900.0, std::nan(""), 1709186400.0}) {
    ASSERT_NE(predictor.next(), nullptr);
    RowBlock rows = network.make_rows(1);
    *rows.row<double>(0, 0) = when;
    std::vector<float> outputs(2);
    network.predict(rows, outputs);
    const std::span<const float> expected = predictor.output(0);
    EXPECT_EQ(outputs, std::vector<float>(expected.begin(), expected.end())) << when;
  }
  size_t held_out = 0;
  Predictor judge({.model = model_, .data = {}, .judge = true, .held_out = true});
  while (const RowBlock* batch = judge.next()) held_out += static_cast<size_t>(batch->size());
  EXPECT_GT(held_out, 0u);
  EXPECT_LT(held_out, 60u);
  Predictor without_label({.model = model_, .data = {}, .held_out = true});
  size_t again = 0;
  while (const RowBlock* batch = without_label.next()) again += static_cast<size_t>(batch->size());
  EXPECT_EQ(again, held_out);
}

TEST_F(NetworkTest, AnswersUndoWhatWasDoneToTheLabel) {
  const auto network = [&](const std::string& ops, const std::string& loss) {
    Trainer trainer = Trainer::from_string(
        cat("device: cpu\ninput:\n- filename_queue: {files: ", quote(data_, 4096), ", epochs: 1}\n- csv_reader\n",
            "- decode_csv: {fields: {features: {columns: 0-2}, label: {columns: 3}}}\n", ops,
            "- batch: {batch_size: 20}\nmodel: [{dense: {units: 1}}]\nloss: ", loss,
            "\noptimizer: {sgd: {learning_rate: 0.01}}\n"),
        "t.yaml");
    trainer.run();
    return trainer.network();
  };
  const std::vector<float> output = {0.5f};
  EXPECT_EQ(network("- normalize: {fields: label, mean: 10, std: 4}\n", "mse").answer(output).values,
            std::vector<double>{12});
  EXPECT_EQ(network("", "mse").answer(output).values, std::vector<double>{0.5});
  const Network classes = network("", "sigmoid_cross_entropy");
  EXPECT_TRUE(classes.classes().empty()) << "they are numbers";
  EXPECT_EQ(classes.answer(output).classes, std::vector<int64_t>{1});
  EXPECT_EQ(classes.answer(output).texts, std::vector<std::string>{""});
}

TEST_F(NetworkTest, AnswersDoNotUndoWhatWasDoneBeforeAJoin) {
  const auto network = [&](const std::string& before, const std::string& after) {
    std::string ops;
    for (const std::string name : {"a", "b"}) {
      ops += cat("- filename_queue: {name: f", name, ", files: ", quote(data_, 4096), ", epochs: 1}\n",
                 "- csv_reader: {name: r", name, "}\n- decode_csv: {name: d", name,
                 ", fields: {features: {columns: 0-2}, label: {columns: 3}}}\n", "- normalize: {name: ", name,
                 ", fields: ", before, ", mean: 10, std: 4}\n");
    }
    Trainer trainer = Trainer::from_string(cat("device: cpu\ninput:\n", ops, "- interleave: {from: [a, b]}\n", after,
                                               "- batch: {batch_size: 20}\nmodel: [{dense: {units: 1}}]\nloss: mse\n",
                                               "optimizer: {sgd: {learning_rate: 0.01}}\n"),
                                           "t.yaml");
    trainer.run();
    return trainer.network();
  };
  const std::vector<float> output = {0.5f};
  const std::string halved = "- normalize: {fields: label, mean: 0, std: 2}\n";
  for (const std::string& after : {std::string(), halved}) {
    const Network changed = network("label", after);
    EXPECT_EQ(changed.answer(output).values, std::vector<double>{0.5});
    EXPECT_TRUE(changed.answers().cannot_undo());
  }
  EXPECT_EQ(network("features", halved).answer(output).values, std::vector<double>{1});
}

TEST_F(NetworkTest, ReadsTextsOfAnyNumber) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += i % 2 == 0 ? "good film,1\n" : "bad bad film indeed,0\n";
  Trainer trainer = Trainer::from_string(
      cat("device: cpu\ninput:\n- filename_queue: {files: ", quote(folder_.write("words.csv", text), 4096),
          ", epochs: 1}\n- csv_reader\n- decode_csv: {fields: {words: {columns: 0, type: string, split: \" \"},\n",
          "    label: {columns: 1}}}\n- pad: {fields: words, length: 5}\n",
          "- vocabulary: {field: words, texts: [\"\", good, bad], as: codes, unknown: code}\n",
          "- one_hot: {field: codes, classes: 4, as: features}\n- batch: {batch_size: 1}\n",
          "model: [{dense: {units: 1}}]\nloss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.1}}\n"),
      "t.yaml");
  trainer.run();
  trainer.save(model_);
  const Network network = Network::load(model_);
  ASSERT_EQ(network.fields().text(), "words: string (ragged)");
  const std::vector<std::vector<std::string>> given = {{"good", "film"}, {"bad", "bad", "film", "indeed"}};
  Predictor predictor({.model = model_, .data = {folder_.path("words.csv")}});
  for (size_t i = 0; i < 2; ++i) {
    predictor.next();
    RowBlock rows = network.make_rows(1);
    for (const std::string& word : given[i]) rows.add_text(0, 0, word);
    std::vector<float> outputs(1);
    network.predict(rows, outputs);
    EXPECT_EQ(outputs[0], predictor.output(0)[0]) << i;
  }
}

}  // namespace
}  // namespace millrace
