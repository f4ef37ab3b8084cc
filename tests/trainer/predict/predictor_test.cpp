#include "millrace/trainer/predict/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "millrace/core/text.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/files/model_file.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "millrace/trainer/predict/model_reader.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

// Two features and a label behind them.
class PredictorTest : public ::testing::Test {
 protected:
  PredictorTest() {
    std::string rows;
    for (int i = 0; i < 60; ++i) rows += cat(i % 7 - 3, ',', i % 5 - 2, ',', i % 7 + i % 5 > 5 ? 1 : 0, '\n');
    train_ = folder_.write("train.csv", rows);
    train("- {dense: {units: 3, activation: tanh}}\n- {dense: {units: 1}}\n");
  }

  void train(const std::string& model, const std::string& more = {}) {
    Trainer trainer = Trainer::from_spec(parse_yaml(
        cat("seed: 3\ndevice: cpu\nthreads: 2\ninput:\n  - filename_queue: {files: ", quote(train_, 4096),
            ", epochs: 2}\n  - csv_reader\n  - decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2}}}\n",
            "  - shuffle_batch: {batch_size: 7, capacity: 30, min_after_dequeue: 10}\nmodel:\n", model,
            "loss: sigmoid_cross_entropy\nmetrics: [accuracy]\noptimizer: {sgd: {learning_rate: 0.1}}\n", more),
        "t.yaml"));
    trainer.run();
    trainer.save(model_);
    parameters_.clear();
    for (size_t i = 0; i < trainer.model().parameters().size(); ++i) {
      const TensorView values = trainer.model().parameter(i);
      parameters_.emplace_back(values.as<float>(), values.as<float>() + values.elements());
    }
  }

  // What the model of two layers says, by plain loops.
  double expected(double a, double b) const {
    double logit = static_cast<double>(parameters_[3][0]);
    for (size_t unit = 0; unit < 3; ++unit) {
      logit +=
          static_cast<double>(parameters_[2][unit]) *
          std::tanh(static_cast<double>(parameters_[0][2 * unit]) * a +
                    static_cast<double>(parameters_[0][2 * unit + 1]) * b + static_cast<double>(parameters_[1][unit]));
    }
    return logit;
  }

  PredictorArgs args(const std::string& data, std::vector<std::string> overrides = {}) const {
    return {.model = model_, .data = {data}, .overrides = std::move(overrides)};
  }
  // A copy of the model with another configuration.
  std::string with_config(const std::string& config) const {
    const ModelFile file = ModelFile::read(model_);
    ModelFile changed(folder_.path("changed.safetensors"), {{"config", config}});
    for (const ModelFile::Entry& entry : file.entries()) {
      std::memcpy(changed.add(entry.name, entry.spec).data(), entry.values.data(), entry.values.bytes());
    }
    changed.write();
    return folder_.path("changed.safetensors");
  }
  std::string config_with(const std::string& from, const std::string& to) const {
    std::string config = ModelFile::read(model_).metadata().at("config");
    const size_t at = config.find(from);
    EXPECT_NE(at, std::string::npos) << from << " is not in\n" << config;
    return config.replace(at, from.size(), to);
  }
  template <class Thrown>
  std::string error_with(const std::string& from, const std::string& to) const {
    const std::string path = with_config(config_with(from, to));
    const std::string text = error_of<Thrown>([&] { Predictor({.model = path, .data = {train_}}); });
    EXPECT_TRUE(text.starts_with(path)) << text;
    return text.substr(std::min(path.size(), text.size()));
  }

  TempFolder folder_;
  std::string train_, model_ = folder_.path("m.safetensors");
  std::vector<std::vector<float>> parameters_;
};

TEST_F(PredictorTest, PredictsEveryRowInOrder) {
  folder_.write("b.csv", "1,2,0\n3,4,1\n");
  folder_.write("c.csv", "-5,1,0\n");
  for (const int batch_size : {1, 2, 50}) {
    Predictor predictor(args(folder_.path("[bc].csv"), {cat("input.shuffle_batch.batch_size=", batch_size)}));
    std::vector<std::string> places;
    std::vector<double> outputs;
    while (const RowBlock* batch = predictor.next()) {
      for (int64_t row = 0; row < batch->size(); ++row) {
        places.push_back(std::filesystem::path(predictor.place(batch->id(row)).text()).filename());
        ASSERT_EQ(predictor.output(row).size(), 1u);
        outputs.push_back(static_cast<double>(predictor.output(row)[0]));
      }
    }
    EXPECT_EQ(places, (std::vector<std::string>{"b.csv:1", "b.csv:2", "c.csv:1"}));
    ASSERT_EQ(outputs.size(), 3u);
    EXPECT_NEAR(outputs[0], expected(1, 2), 1e-5);
    EXPECT_NEAR(outputs[1], expected(3, 4), 1e-5);
    EXPECT_NEAR(outputs[2], expected(-5, 1), 1e-5);
    EXPECT_EQ(predictor.rows(), 3u);
    EXPECT_FALSE(predictor.stopped());
  }
}

TEST_F(PredictorTest, RefusesSettingsThatChangeNothing) {
  PredictorArgs given = args(
      train_, {"threads=1", "seed=4", "input.shuffle_batch.batch_size=8", "loss.sigmoid_cross_entropy.from=label"});
  EXPECT_NO_THROW(Predictor{given});
  const auto refused = [&](const std::string& setting) {
    PredictorArgs with_setting = given;
    with_setting.overrides.push_back(setting);
    const std::string text = error_of<ConfigError>([&] { Predictor{with_setting}; });
    return text.starts_with(cat("--set ", setting, ": the setting changes nothing here; ")) ? "refused" : text;
  };
  for (const char* setting :
       {"save=other.safetensors", "train.steps=1", "input.filename_queue.epochs=7", "input.decode_csv.on_bad_row=skip",
        "input.filename_queue.files=x.csv", "input.shuffle_batch.capacity=90",
        "input.shuffle_batch.min_after_dequeue=1", "input.shuffle_batch.threads=2", "metrics=[auc]",
        "input.decode_csv.fields.label.columns=3"}) {
    EXPECT_EQ(refused(setting), "refused") << setting;
  }
  given.overrides.emplace_back("metrics=[auc]");
  given.judge = true;
  EXPECT_NO_THROW(Predictor{given});
  EXPECT_EQ(refused("save=other.safetensors"), "refused");
}

// A decoder that knows neither columns nor bad rows: each line is a row of two numbers.
class Whole final : public Transform {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "takes lines as they are";
  explicit Whole(const Options&) {}
  std::vector<PortType> inputs() const override { return {PortType::text}; }
  Port bind(const BindArgs&) override {
    return {.type = PortType::rows, .rows = {{{"features", DType::f32, Shape{2}}}}};
  }
  void apply(Chunk&) const override {}
};

// What a prediction gives of each row: kept texts and "!error", or how many outputs there are.
std::vector<std::string> rows_of(Predictor& predictor) {
  std::vector<std::string> out;
  while (const RowBlock* batch = predictor.next()) {
    for (int64_t row = 0; row < batch->size(); ++row) {
      std::string& text = out.emplace_back(cat(predictor.place(batch->id(row)).line, ':'));
      for (size_t i = 0; i < predictor.kept_names().size(); ++i) text += cat(' ', predictor.kept(row, i));
      const std::string error(predictor.error(row));
      text += error.empty() ? cat(' ', predictor.output(row).size()) : cat(" !", error);
    }
  }
  return out;
}

TEST_F(PredictorTest, ColumnsThatAreKeptComeWithTheRow) {
  PredictorArgs given = args(folder_.write("new.csv", "1,2,\" a \"\"b\"\" \"\n3,4,\n5,6,NA\n"));
  given.keep = {"2", "0-1"};
  Predictor predictor(given);
  EXPECT_EQ(predictor.kept_names(), (std::vector<std::string>{"2", "0", "1"}));
  EXPECT_EQ(rows_of(predictor), (std::vector<std::string>{"1:  a \"b\"  1 2 1", "2:  3 4 1", "3: NA 5 6 1"}));
  given.keep = {"3"};
  given.keep_place = {"--keep"};
  EXPECT_EQ(error_of<ConfigError>([&] { Predictor{given}; }),
            cat("--keep: there is no column 3: the records of ", given.data[0], " have 3 columns (0 to 2)"));
}

TEST_F(PredictorTest, AHeaderNamesTheColumnsThatAreKept) {
  PredictorArgs given = args(folder_.write("new.csv", "id,x 1,y,2\n7,1,2,b\n8,3,4,c\n"),
                             {"input.csv_reader={header: true}", "input.decode_csv.fields.features.columns=[x 1, y]"});
  given.keep = {"id", "2", "y"};
  Predictor predictor(given);
  EXPECT_EQ(predictor.kept_names(), given.keep);
  EXPECT_EQ(rows_of(predictor), (std::vector<std::string>{"2: 7 b 2 1", "3: 8 c 4 1"}));
  given.keep = {"ID"};
  EXPECT_EQ(error_of<ConfigError>([&] { Predictor{given}; }),
            cat("keep: the header of ", given.data[0], " has no column \"ID\"; did you mean id?"));
  given.keep = {"customer"};
  EXPECT_THAT(error_of<ConfigError>([&] { Predictor{given}; }), ::testing::EndsWith("; it has id, \"x 1\", y and 2"));
}

TEST_F(PredictorTest, BadRowsStayWhereTheyAre) {
  PredictorArgs given = args(folder_.write("new.csv", "1,2,a\n1,x,b\n3,4\n5,6,d\n\"7\"8,9,e\n,1,f\n1,1,g\n"));
  given.keep = {"2"};
  EXPECT_EQ(error_of<DataError>([&] {
              Predictor predictor(given);
              rows_of(predictor);
            }),
            cat(given.data[0], ":2:3: column 1 (features): expected float32, got \"x\""));
  given.bad_rows_stay = true;
  for (const int batch_size : {1, 2, 50}) {
    given.overrides = {cat("input.shuffle_batch.batch_size=", batch_size)};
    Predictor predictor(given);
    EXPECT_EQ(rows_of(predictor),
              (std::vector<std::string>{
                  "1: a 1", "2: b !column 1 (features): expected float32, got \"x\"", "3:  !expected 3 fields, got 2",
                  "4: d 1", "5:  !text after a closing quote: expected \",\" or the end of the line, got \"8\"",
                  "6: f !column 0 (features): the value is required, got \"\"", "7: g 1"}));
  }
}

TEST_F(PredictorTest, BadRowsAreNotJudged) {
  PredictorArgs given = args(train_);
  given.bad_rows_stay = true;
  EXPECT_NO_THROW(Predictor{given});
  given.judge = true;
  EXPECT_EQ(error_of<ConfigError>([&] { Predictor{given}; }), "data: bad rows cannot be judged");
}

TEST_F(PredictorTest, ARowWithoutACertainEndIsAnErrorNevertheless) {
  PredictorArgs given = args(folder_.write("new.csv", "1,2\n1,\"x\n3,4\n"));
  given.bad_rows_stay = true;
  Predictor predictor(given);
  EXPECT_EQ(predictor.next()->size(), 1) << "what comes before it is given";
  EXPECT_NE(error_of<DataError>([&] { predictor.next(); }).find("unterminated quote"), std::string::npos);
}

TEST_F(PredictorTest, OpsThatDoNotKnowBadRowsAreNamed) {
  Catalog catalog = Catalog::builtin();
  catalog.add_op<Whole>("whole");
  Spec config = parse_yaml(ModelFile::read(model_).metadata().at("config"), "saved");
  Spec ops = Spec::list();
  for (const Spec& op : config.find("input")->items()) {
    ops.append(op.is_map() && op.find("decode_csv") != nullptr ? Spec::of("whole") : op);
  }
  config.set("input", ops);
  PredictorArgs given = args(folder_.write("new.csv", "ab\ncd\n"));
  given.model = with_config(to_yaml(config));
  EXPECT_NO_THROW(Predictor(given, catalog));
  given.bad_rows_stay = true;
  EXPECT_TRUE(error_of<ConfigError>([&] {
                Predictor(given, catalog);
              }).ends_with("input: the ops that read the data cannot go on after a bad row"));
  given.bad_rows_stay = false;
  given.keep = {"0"};
  EXPECT_EQ(error_of<ConfigError>([&] { Predictor(given, catalog); }),
            "keep: the rows do not come from columns of text");
}

// A batch ends if the pipe has nothing more, and before a bad row. A file with the same rows gives the same bits.
TEST_F(PredictorTest, RowsOfAPipeAreGivenAsTheyCome) {
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::vector<std::string> pieces = {"1,2\n", "3,4\n5,6\n", "-1,2\n", "-2,3\n0,0\n1,x\n"};
  std::string all;
  for (const std::string& piece : pieces) all += piece;
  std::vector<float> expected, got;
  std::vector<int64_t> sizes;
  const auto read = [](Predictor& predictor, std::vector<float>& out) {
    const RowBlock* batch = predictor.next();
    for (int64_t row = 0; row < batch->size(); ++row) out.push_back(predictor.output(row)[0]);
    return batch->size();
  };
  Predictor file(args(folder_.write("new.csv", all), {"input.shuffle_batch.batch_size=5"}));
  EXPECT_EQ(read(file, expected), 5);
  EXPECT_EQ(read(file, expected), 1);
  EXPECT_THROW(file.next(), DataError);

  std::ofstream writer;
  std::thread opener([&] {
    writer.open(pipe);
    writer << pieces[0] << std::flush;
  });
  Predictor predictor(args(pipe, {"input.shuffle_batch.batch_size=5"}));
  opener.join();
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0) writer << pieces[i] << std::flush;
    sizes.push_back(read(predictor, got));
  }
  sizes.push_back(read(predictor, got));
  EXPECT_THROW(predictor.next(), DataError) << "the pipe is still open";
  EXPECT_EQ(sizes, (std::vector<int64_t>{1, 2, 1, 1, 1}));
  EXPECT_EQ(got, expected);
}

// Rows that are left out after the batch leave no room: the next row stands in their place, the next batch at the
// front.
TEST_F(PredictorTest, RowsOfAPipeStandWhereThoseOfAFileDo) {
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  Spec config = parse_yaml(ModelFile::read(model_).metadata().at("config"), "saved");
  const std::string settings[] = {"input.shuffle_batch.batch_size=5", "input.decode_csv.fields.first={columns: 0}"};
  apply_overrides(config, settings);
  config.find("input")->append(parse_yaml("filter: {field: first, op: \">\", value: 0}", "f"));
  const std::string model = with_config(to_yaml(config));
  // Where the outputs of the next batch lie.
  const auto read = [](Predictor& predictor) {
    std::vector<const float*> out;
    const RowBlock* batch = predictor.next();
    for (int64_t row = 0; row < batch->size(); ++row) out.push_back(predictor.output(row).data());
    return out;
  };
  const auto distances = [](const std::vector<const float*>& places) {
    std::vector<ptrdiff_t> out;
    for (const float* place : places) out.push_back(place - places[0]);
    return out;
  };
  const std::vector<std::string> pieces = {"1,0\n-1,0\n", "2,0\n-2,0\n3,0\n", "4,0\n", "5,0\n-3,0\n6,0\n-4,0\n"};
  std::string all;
  for (const std::string& piece : pieces) all += piece;
  Predictor file({.model = model, .data = {folder_.write("new.csv", all)}});
  std::vector<const float*> expected = read(file);
  const std::vector<const float*> first = expected;
  ASSERT_EQ(read(file), first);
  expected.insert(expected.end(), first.begin(), first.end());

  std::ofstream writer;
  std::thread opener([&] {
    writer.open(pipe);
    writer << pieces[0] << std::flush;
  });
  Predictor predictor({.model = model, .data = {pipe}});
  opener.join();
  std::vector<const float*> got;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0) writer << pieces[i] << std::flush;
    for (const float* place : read(predictor)) got.push_back(place);
  }
  EXPECT_EQ(distances(got), distances(expected));
}

TEST_F(PredictorTest, RefusesRecordsWithMoreFieldsThanThoseOfTheTraining) {
  const std::string wide = folder_.write("wide.csv", "0,1,2,0\n0,3,4,1\n");
  EXPECT_EQ(error_of<DataError>([&] { Predictor predictor(args(wide)); }),
            wide +
                ": the records have 4 fields, the records of the training had 3; say which columns are meant: --set "
                "input.decode_csv.fields...");
  Predictor predictor(args(wide, {"input.decode_csv.fields.features.columns=1-2"}));
  ASSERT_NE(predictor.next(), nullptr);
  EXPECT_NEAR(static_cast<double>(predictor.output(0)[0]), expected(1, 2), 1e-5);
}

TEST_F(PredictorTest, NeedsNoLabelToPredict) {
  Predictor predictor(args(folder_.write("new.csv", "1,2\n3,4\n")));
  const RowBlock* batch = predictor.next();
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(batch->size(), 2);
  EXPECT_NEAR(static_cast<double>(predictor.output(1)[0]), expected(3, 4), 1e-5);
  // A label that nobody reads may be anything.
  Predictor other(args(folder_.write("new.csv", "1,2,unknown\n")));
  EXPECT_NE(other.next(), nullptr);
  PredictorArgs judged = args(folder_.write("new.csv", "1,2\n3,4\n"));
  judged.judge = true;
  EXPECT_NE(error_of<ConfigError>([&] { Predictor{judged}; }).find("there is no column 2: the records of "),
            std::string::npos);
}

TEST_F(PredictorTest, JudgesByTheLabel) {
  PredictorArgs judged = args(folder_.write("new.csv", "1,2,1\n3,4,0\n-1,0,1\n"));
  judged.judge = true;
  Predictor predictor(judged);
  while (predictor.next() != nullptr) {
  }
  double loss = 0, right = 0;
  const double rows[][3] = {{1, 2, 1}, {3, 4, 0}, {-1, 0, 1}};
  for (const auto& [a, b, y] : rows) {
    const double z = expected(a, b);
    loss += std::log1p(std::exp(y > 0.5 ? -z : z)) / 3;
    right += (z > 0) == (y > 0.5) ? 1 : 0;
  }
  EXPECT_NEAR(predictor.loss(), loss, 1e-5);
  ASSERT_EQ(predictor.metrics().size(), 1u);
  EXPECT_EQ(predictor.metrics()[0].second, right / 3);
  judged.data = {folder_.write("bad.csv", "1,2,0\n1,2,7\n")};
  Predictor bad(judged);
  EXPECT_EQ(error_of<DataError>([&] { bad.next(); }),
            folder_.path("bad.csv") +
                ":2: the field label holds 7, expected at least 0 and at most 1; 0 stands for no and 1 for yes");
}

TEST_F(PredictorTest, SaysWhatIsMissing) {
  EXPECT_EQ(error_of<MissingError>([&] { Predictor({.model = folder_.path("no"), .data = {train_}}); }),
            folder_.path("no") + ": cannot read the model: No such file or directory");
  EXPECT_TRUE(error_of<MissingError>([&] {
                Predictor{args(folder_.path("none-*.csv"))};
              }).starts_with(cat("data: no file matches ", quote(folder_.path("none-*.csv"), 200))));
  EXPECT_EQ(error_of<DataError>([&] { Predictor({.model = train_, .data = {train_}}); }).substr(0, train_.size() + 22),
            train_ + ": not a model file: it");
  EXPECT_EQ(error_of<ConfigError>([&] { Predictor({.model = model_, .data = {}}); }), "data: no data are given");
  EXPECT_EQ(error_of<ConfigError>([&] { Predictor(args(train_, {"sed=1"})); }),
            "--set sed=1: unknown key sed; did you mean seed?");
}

TEST_F(PredictorTest, StopEndsItSoon) {
  Predictor predictor(args(train_));
  ASSERT_NE(predictor.next(), nullptr);
  predictor.stop();
  EXPECT_EQ(predictor.next(), nullptr);
  EXPECT_TRUE(predictor.stopped());
}

TEST_F(PredictorTest, ASavedConfigurationThatAsksForTooMuchTakesNoMemory) {
  EXPECT_EQ(error_with<DataError>("units: 3", "units: 1000000000"),
            ": the saved model does not fit: dense.weight is float32 (3, 2), the model has float32 (1000000000, 2)");
  const std::string rows = error_with<ConfigError>("batch_size: 7", "batch_size: 1000000000000");
  EXPECT_TRUE(rows.starts_with(":config:6:3: input: batches of 1000000000000 rows would take ")) << rows;
  EXPECT_TRUE(rows.ends_with(" bytes, at most 1073741824 are allowed; set a smaller batch_size")) << rows;
  EXPECT_NE(error_with<ConfigError>("batch_size: 7", "batch_size: 10000000").find(" bytes, at most 1073741824 are"),
            std::string::npos);
  // Neither buffers nor threads of the training count here.
  EXPECT_NO_THROW(
      Predictor({.model = with_config(config_with("capacity: 30", "capacity: 1000000000000")), .data = {train_}}));
  const std::string threads = with_config(config_with("threads: 2", "threads: 4096"));
  EXPECT_EQ(Predictor({.model = threads, .data = {train_}}).config().threads, 0);
  EXPECT_EQ(Predictor({.model = model_, .data = {train_}, .overrides = {"threads=3"}}).config().threads, 3);
}

TEST_F(PredictorTest, EveryBlockOfABatchCounts) {
  for (const bool judge : {true, false}) {
    PredictorArgs given = args(train_);
    given.judge = judge;
    const Predictor predictor(given);
    const InputGraph& input = predictor.input();
    given.max_bytes = input.memory_bound(1) +
                      batch_bytes(predictor.model(), input.output().rows, input.output().batch_size, judge ? 1 : 2);
    EXPECT_NO_THROW(Predictor{given});
    --given.max_bytes;
    EXPECT_THROW(Predictor{given}, ConfigError);
  }
}

TEST_F(PredictorTest, AsManyThreadsDecodeAsThereIsMemoryFor) {
  PredictorArgs given = args(train_, {"threads=4"});
  const Predictor wide(given);
  const InputGraph& input = wide.input();
  const uint64_t one = input.memory_bound(1), all = input.memory_bound(4);
  EXPECT_GT(all, one);
  EXPECT_EQ(input.memory_bound(9), all);
  given.max_bytes = one + batch_bytes(wide.model(), input.output().rows, input.output().batch_size, 2);
  const Predictor narrow(given);
  EXPECT_EQ(narrow.input().memory_bound(4), one);
}

TEST_F(PredictorTest, ReadsLessAtOnceIfThatFits) {
  std::string rows;
  for (int i = 0; i < 10000; ++i) rows += cat(i % 10, ',', i / 7 % 10, ",0\n");
  PredictorArgs given = args(folder_.write("long.csv", rows));
  const auto outputs_of = [](Predictor& predictor) {
    std::vector<float> outputs;
    while (const RowBlock* batch = predictor.next()) {
      for (int64_t row = 0; row < batch->size(); ++row) outputs.push_back(predictor.output(row)[0]);
    }
    return outputs;
  };
  Predictor predictor(given);
  const InputGraph& input = predictor.input();
  const uint64_t bound = input.memory_bound(1);
  given.max_bytes = bound + batch_bytes(predictor.model(), input.output().rows, input.output().batch_size, 2) - 1;
  Predictor limited(given);
  EXPECT_LT(limited.input().memory_bound(1), bound);
  const std::vector<float> outputs = outputs_of(predictor);
  EXPECT_EQ(outputs.size(), 10000u);
  EXPECT_EQ(outputs_of(limited), outputs);
}

TEST_F(PredictorTest, LayersWithoutParametersAreBoundedToo) {
  std::string layers;
  for (int i = 0; i < 5000; ++i) layers += "  - relu\n";
  const std::string head = config_with("  - dense:", layers + "  - dense:");
  EXPECT_NE(error_of<ConfigError>([&] {
              Predictor({.model = with_config(head), .data = {train_}});
            }).find("model: a model file may list 4096 items here, got 5002"),
            std::string::npos);
}

TEST_F(PredictorTest, FaultsOfTheSavedConfigurationAreFoundInIt) {
  EXPECT_TRUE(error_with<ConfigError>("units: 3", "unit: 3").starts_with(":config:")) << "with line and column";
  EXPECT_NE(error_with<ConfigError>("sigmoid_cross_entropy", "own_loss").find("unknown loss \"own_loss\""),
            std::string::npos);
  const std::string path = with_config("[1, 2]");
  EXPECT_EQ(error_of<ConfigError>([&] { Predictor({.model = path, .data = {train_}}); }),
            path + ":config:1:1: expected a map, got a list");
}

// What a setting says is mended in the setting.
TEST_F(PredictorTest, SaysHowASavedConfigurationIsFittedToOtherData) {
  const std::string two = folder_.write("two.csv", "1,2\n");
  PredictorArgs judged = args(two);
  judged.judge = true;
  EXPECT_TRUE(error_of<ConfigError>([&] {
                Predictor{judged};
              }).ends_with("have 2 columns (0 to 1); --set PATH=VALUE changes what the model file says"));
  const std::string setting = "input.decode_csv.fields.label.columns=7";
  judged.overrides = {setting};
  EXPECT_EQ(error_of<ConfigError>([&] { Predictor{judged}; }),
            cat("--set ", setting, ": input[2].decode_csv.fields.label.columns: there is no column 7: the records of ",
                two, " have 2 columns (0 to 1)"));
}

// What a configuration from elsewhere could do to this machine's files.
TEST_F(PredictorTest, WritesNothing) {
  const std::string target = folder_.path("target");
  folder_.write("new.csv", "1,x\n1,2\n");
  Spec config = parse_yaml(ModelFile::read(model_).metadata().at("config"), "saved");
  const std::string settings[] = {"input.decode_csv.on_bad_row=skip",
                                  cat("input.decode_csv.bad_rows_file=", quote(target, 4096))};
  apply_overrides(config, settings);
  const std::string path = with_config(to_yaml(config));
  EXPECT_THROW(
      {
        Predictor predictor({.model = path, .data = {folder_.path("new.csv")}});
        predictor.next();
      },
      DataError);
  EXPECT_FALSE(std::filesystem::exists(target));
}

// Calls the first row of each chunk bad.
class Picky final : public Transform {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "likes no first row";
  explicit Picky(const Options&) {}
  Port bind(const BindArgs& args) override { return args.inputs[0]; }
  void apply(Chunk& chunk) const override {
    Note note;
    note.kind = Note::Kind::bad_row;
    note.id = chunk.rows.id(0);
    note.text = "it is the first one";
    chunk.notes.push_back(note);
  }
};

TEST_F(PredictorTest, ABadRowOfAnOpOfOnesOwnIsAnErrorToo) {
  Catalog catalog = Catalog::builtin();
  catalog.add_op<Picky>("picky");
  Spec config = parse_yaml(ModelFile::read(model_).metadata().at("config"), "saved");
  Spec ops = Spec::list();
  for (const Spec& op : config.find("input")->items()) {
    ops.append(op);
    if (op.is_map() && op.find("decode_csv") != nullptr) ops.append(Spec::of("picky"));
  }
  config.set("input", ops);
  PredictorArgs pass = args(train_);
  pass.model = with_config(to_yaml(config));
  Predictor predictor(pass, catalog);
  EXPECT_EQ(error_of<DataError>([&] { predictor.next(); }),
            cat(train_, ":1: it is the first one; a pass needs every row: repair the data"));
}

TEST_F(PredictorTest, AModelOfOtherKindsNeedsTheirCatalog) {
  Catalog without;
  EXPECT_THROW(Predictor(args(train_), without), ConfigError);
}

}  // namespace
}  // namespace millrace
