// The key `validation` of a training, from the Trainer's side.
#include "millrace/trainer/validation.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <thread>

#include "millrace/core/clock.h"
#include "millrace/core/text.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/predict/network.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

// Does something when its first rows come by.
class Tripwire final : public Transform {
 public:
  explicit Tripwire(std::function<void()> action) : action_(std::move(action)) {}
  Port bind(const BindArgs& args) override { return args.inputs[0]; }
  void apply(Chunk&) const override {
    if (!tripped_.exchange(true)) action_();
  }

 private:
  const std::function<void()> action_;
  mutable std::atomic<bool> tripped_{false};
};

struct Trained {
  TrainResult result;
  std::vector<ValidationReport> validations;
  std::vector<std::string> log;
};

Trained run(Trainer trainer) {
  Trained out;
  TrainCallbacks callbacks;
  callbacks.on_validation = [&](const ValidationReport& report) { out.validations.push_back(report); };
  callbacks.on_log = [&](std::string_view text) { out.log.emplace_back(text); };
  out.result = trainer.run(callbacks);
  return out;
}

class ValidationTest : public ::testing::Test {
 protected:
  // Rows of two numbers and whether their sum is positive, from `first` on.
  std::string write_rows(const std::string& name, int first, int count) const {
    std::string text;
    for (int i = first; i < first + count; ++i) {
      const int a = i * 37 % 41 - 20, b = i * 23 % 29 - 14;
      text += cat(a, ',', b, ',', a + b > 0 ? 1 : 0, '\n');
    }
    return folder_.write(name, text);
  }
  static std::string ops(const std::string& path, const std::string& batch, const std::string& epochs) {
    return cat("[{filename_queue: {files: ", quote(path, 4096), epochs,
               "}}, csv_reader, {decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2}}}}, {", batch,
               "}]");
  }
  // A training of 200 rows, 3 epochs, batches of 16: 38 steps. `validation` are the lines of that key.
  std::string config(const std::string& validation = {}, const std::string& rate = "0.01") const {
    return cat("seed: 5\ndevice: cpu\nthreads: 2\ninput: ",
               ops(train_,
                   "shuffle_batch: {batch_size: 16, capacity: 60, min_after_dequeue: 20, "
                   "allow_smaller_final_batch: true}",
                   ", epochs: 3"),
               "\nmodel: [{dense: {units: 4, activation: tanh}}, {dense: {units: 1}}]\nloss: sigmoid_cross_entropy\n"
               "metrics: [accuracy]\noptimizer: {sgd: {learning_rate: ",
               rate, "}}\n", validation.empty() ? "" : "validation:\n", validation);
  }
  std::string validation(const std::string& more, int64_t batch_size = 32) const {
    return cat("  input: ", ops(test_, cat("batch: {batch_size: ", batch_size, '}'), ""), "\n", more);
  }
  static Trainer make(const std::string& text, const Catalog& catalog = Catalog::builtin()) {
    return Trainer::from_spec(parse_yaml(text, "t.yaml"), catalog);
  }

  TempFolder folder_;
  std::string train_ = write_rows("train.csv", 0, 200);
  std::string test_ = write_rows("test.csv", 200, 77);
};

TEST_F(ValidationTest, NeverChangesWhatIsTrained) {
  const TrainResult expected = make(config()).run();
  ASSERT_EQ(expected.steps, 38);
  for (const int every : {1, 7, 38, 1000}) {
    const Trained trained = run(make(config(validation(cat("  every: ", every, '\n')))));
    EXPECT_EQ(trained.result.weights, expected.weights) << every;
    EXPECT_EQ(trained.result.steps, expected.steps);
    EXPECT_EQ(trained.result.loss, expected.loss);
    EXPECT_EQ(trained.result.metrics, expected.metrics);
    EXPECT_FALSE(trained.result.best.has_value());
    // Every so many steps, and behind the last one if that was not one of them.
    std::vector<int64_t> steps, wanted;
    for (const ValidationReport& report : trained.validations) steps.push_back(report.step);
    for (int step = every; step <= 38; step += every) wanted.push_back(step);
    if (wanted.empty() || wanted.back() != 38) wanted.push_back(38);
    EXPECT_EQ(steps, wanted);
  }
}

TEST_F(ValidationTest, ReportsWhatAnEvaluationOfTheSavedModelSays) {
  Trainer trainer = make(config(validation("  every: 30\n")));
  std::vector<ValidationReport> reports;
  trainer.run({.on_validation = [&](const ValidationReport& report) { reports.push_back(report); }});
  trainer.save(folder_.path("m.safetensors"));
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].step, 30);
  EXPECT_EQ(reports[0].epoch, 3u);
  EXPECT_EQ(reports[1].rows, 77u);
  EXPECT_GT(reports[1].seconds, 0);
  EXPECT_LT(reports[1].loss, reports[0].loss);
  EXPECT_TRUE(reports[1].best);
  Predictor predictor({.model = folder_.path("m.safetensors"),
                       .data = {test_},
                       .overrides = {"input.shuffle_batch.batch_size=32"},
                       .judge = true});
  while (predictor.next() != nullptr) {
  }
  EXPECT_EQ(predictor.rows(), 77u);
  EXPECT_EQ(predictor.loss(), reports[1].loss);
  EXPECT_EQ(predictor.metrics(), reports[1].metrics);
}

// 38 batches make 9 updates of 4 and one of 2 at the end, behind the validation of the last step.
TEST_F(ValidationTest, JudgesTheModelBehindTheLastUpdate) {
  Trainer trainer = make(config(validation("  every: 19\n")) + "train: {accumulate: 4}\n");
  std::vector<ValidationReport> reports;
  trainer.run({.on_validation = [&](const ValidationReport& report) { reports.push_back(report); }});
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(reports[1].step, 38);
  EXPECT_EQ(reports[2].step, 38);
  EXPECT_NE(reports[1].loss, reports[2].loss);
  trainer.save(folder_.path("m.safetensors"));
  Predictor predictor({.model = folder_.path("m.safetensors"),
                       .data = {test_},
                       .overrides = {"input.shuffle_batch.batch_size=32"},
                       .judge = true});
  while (predictor.next() != nullptr) {
  }
  EXPECT_EQ(predictor.loss(), reports[2].loss);
}

TEST_F(ValidationTest, IsIndependentOfTheBatchSize) {
  const Trained one = run(make(config(validation("", 77)))), many = run(make(config(validation("", 5))));
  EXPECT_NEAR(one.validations[0].loss, many.validations[0].loss, 1e-6);
  EXPECT_EQ(one.validations[0].metrics, many.validations[0].metrics);
}

TEST_F(ValidationTest, KeepsTheBestModel) {
  const std::string path = folder_.path("m.safetensors");
  // More loss is worse, so that the first validation is the best.
  Trainer trainer = make(config(validation("  every: 10\n  keep_best: {metric: loss, mode: max}\n")) +
                         "save: " + quote(path, 4096) + "\n");
  std::vector<ValidationReport> reports;
  const TrainResult result =
      trainer.run({.on_validation = [&](const ValidationReport& report) { reports.push_back(report); }});
  ASSERT_EQ(reports.size(), 4u);
  EXPECT_TRUE(reports[0].best);
  EXPECT_FALSE(reports[1].best);
  ASSERT_TRUE(result.best.has_value());
  EXPECT_EQ(result.best->step, 10);
  EXPECT_EQ(result.best->metric, "loss");
  EXPECT_EQ(result.best->value, reports[0].loss);
  EXPECT_EQ(result.steps, 38);
  const TrainResult ten = make(config() + "train: {steps: 10}\n").run();
  EXPECT_EQ(result.weights, ten.weights);
  Predictor predictor({.model = path, .data = {test_}, .judge = true});
  while (predictor.next() != nullptr) {
  }
  EXPECT_NEAR(predictor.loss(), reports[0].loss, 1e-6);
}

TEST_F(ValidationTest, PatienceEndsATrainingThatGetsNoBetter) {
  const Trained trained = run(make(config(validation("  every: 5\n  keep_best: {mode: max}\n  patience: 2\n"))));
  EXPECT_EQ(trained.result.reason, "no improvement");
  EXPECT_EQ(trained.result.steps, 15);
  EXPECT_EQ(trained.validations.size(), 3u);
  EXPECT_EQ(trained.result.best->step, 5);
  // While it gets better it goes on; that of the last step ends nothing.
  const Trained better = run(make(config(validation("  every: 5\n  patience: 1\n"))));
  EXPECT_EQ(better.result.reason, "end of data");
  const Trained last =
      run(make(config(validation("  every: 5\n  keep_best: {mode: max}\n  patience: 1\n")) + "train: {steps: 10}\n"));
  EXPECT_EQ(last.result.reason, "steps");
}

TEST_F(ValidationTest, NaNNeverIsTheBest) {
  folder_.write("test.csv", "nan,1,1\n2,3,0\n");
  const Trained trained = run(make(config(validation("  every: 20\n  keep_best: {}\n"))));
  ASSERT_EQ(trained.validations.size(), 2u);
  for (const ValidationReport& report : trained.validations) {
    EXPECT_TRUE(std::isnan(report.loss));
    EXPECT_FALSE(report.best);
  }
  EXPECT_FALSE(trained.result.best.has_value());
  EXPECT_EQ(trained.result.weights, make(config()).run().weights);
  EXPECT_EQ(trained.log.back(), "warning: no validation gave a number for loss: the model is the one of the last step");
  // Of such a model a metric may still be a number.
  const Trained judged = run(make(config(validation("  every: 20\n  keep_best: {metric: accuracy}\n"))));
  EXPECT_FALSE(judged.result.best.has_value());
  EXPECT_EQ(judged.log.back(),
            "warning: no validation gave a number for loss and accuracy: the model is the one of the last step");
}

TEST_F(ValidationTest, WithoutRowsItIsAnError) {
  folder_.write("test.csv", "");
  EXPECT_EQ(error_of<DataError>([&] { run(make(config(validation("  every: 20\n  patience: 2\n")))); }),
            "t.yaml:10:3: the validation has no rows; look into its files");
}

TEST_F(ValidationTest, ReadsTheFilesAfreshEachTime) {
  Trainer trainer = make(config(validation("  every: 19\n")));
  std::vector<uint64_t> rows;
  trainer.run({.on_validation = [&](const ValidationReport& report) {
    rows.push_back(report.rows);
    write_rows("test.csv", 0, 10);
  }});
  EXPECT_EQ(rows, (std::vector<uint64_t>{77, 10}));
}

TEST_F(ValidationTest, StopEndsAValidationThatThenDoesNotCount) {
  Trainer* training = nullptr;
  Catalog catalog = Catalog::builtin();
  catalog.ops.add("tripwire", {.doc = "stops the training",
                               .describe = [] { return std::vector<OptionInfo>{}; },
                               .make =
                                   [&](const Spec& options, Spec* resolved) {
                                     if (resolved != nullptr) *resolved = options;
                                     return std::make_unique<Tripwire>([&] { training->stop(); });
                                   }});
  // More rows than anybody would wait for.
  Trainer trainer = make(config() +
                             "validation:\n  input: [{synthetic: {features: 2, rows: 1000000000000}}, tripwire, "
                             "{batch: {batch_size: 64}}]\n  every: 3\n  keep_best: {}\n",
                         catalog);
  training = &trainer;
  int validations = 0;
  const TrainResult result = trainer.run({.on_validation = [&](const ValidationReport&) { ++validations; }});
  EXPECT_EQ(result.reason, "stopped");
  EXPECT_EQ(result.steps, 3);
  EXPECT_EQ(validations, 0);
  EXPECT_FALSE(result.best.has_value());
}

TEST_F(ValidationTest, SaysHowFarALongOneIs) {
  Catalog catalog = Catalog::builtin();
  catalog.ops.add("slow", {.doc = "takes long",
                           .describe = [] { return std::vector<OptionInfo>{}; },
                           .make =
                               [](const Spec& options, Spec* resolved) {
                                 if (resolved != nullptr) *resolved = options;
                                 return std::make_unique<Tripwire>([] {
                                   const Clock::time_point end = Clock::now() + std::chrono::milliseconds(150);
                                   while (Clock::now() < end) std::this_thread::yield();
                                 });
                               }});
  Trainer trainer = make(config() +
                             "train: {steps: 2}\nvalidation:\n  input: [{synthetic: {features: 2, rows: 10}}, slow, "
                             "{batch: {batch_size: 1}}]\n  every: 1000\n",
                         catalog);
  std::vector<ValidationProgress> told;
  const TrainResult result =
      trainer.run({.on_validating = [&](const ValidationProgress& progress) { told.push_back(progress); }});
  EXPECT_EQ(result.steps, 2);
  ASSERT_GE(told.size(), 1u);
  for (const ValidationProgress& one : told) {
    EXPECT_EQ(one.step, 2);
    EXPECT_GT(one.done.value_or(0), 0);
    EXPECT_LE(*one.done, 1);
  }
}

TEST_F(ValidationTest, AStoppedTrainingKeepsItsBestWithoutAnotherValidation) {
  Trainer trainer = make(config(validation("  every: 4\n  keep_best: {mode: max}\n")));
  int validations = 0;
  TrainCallbacks callbacks;
  callbacks.on_validation = [&](const ValidationReport&) {
    if (++validations == 2) trainer.stop();
  };
  const TrainResult result = trainer.run(callbacks);
  EXPECT_EQ(result.reason, "stopped");
  EXPECT_EQ(result.steps, 8);
  EXPECT_EQ(validations, 2);
  EXPECT_EQ(result.best->step, 4);
}

TEST_F(ValidationTest, AStoppedTrainingSavesItsLastModelToo) {
  const std::string best = folder_.path("m.safetensors"), last = folder_.path("m.last.safetensors");
  const auto stopped_after = [&](int64_t validations, const std::string& more) {
    Trainer trainer = make(config(validation("  every: 4\n  keep_best: {mode: max}\n")) + more);
    TrainCallbacks callbacks;
    std::vector<ValidationReport> reports;
    callbacks.on_validation = [&](const ValidationReport& report) {
      reports.push_back(report);
      if (std::ssize(reports) == validations) trainer.stop();
    };
    return std::pair(trainer.run(callbacks), reports);
  };
  const auto loss_of = [&](const std::string& path) {
    Predictor predictor({.model = path, .data = {test_}, .judge = true});
    while (predictor.next() != nullptr) {
    }
    return predictor.loss();
  };
  const std::string save = cat("save: ", quote(best, 4096), '\n');
  const auto [result, reports] = stopped_after(2, save);
  EXPECT_EQ(result.saved, best);
  EXPECT_EQ(result.saved_last, last);
  ASSERT_GT(reports[0].loss - reports[1].loss, 1e-4);
  EXPECT_NEAR(loss_of(best), reports[0].loss, 1e-6);
  EXPECT_NEAR(loss_of(last), reports[1].loss, 1e-6);
  std::filesystem::remove(last);
  // A training that ends by itself has had its say; and without `save` nothing is kept.
  EXPECT_EQ(stopped_after(-1, save).first.saved_last, "");
  EXPECT_EQ(stopped_after(2, "").first.saved_last, "");
  EXPECT_FALSE(std::filesystem::exists(last));
  // Nothing was found to be best yet.
  Trainer early = make(config(validation("  every: 4\n  keep_best: {}\n")) + save);
  const TrainResult none = early.run({.on_batch = [&](const BatchReport&) { early.stop(); }});
  EXPECT_EQ(none.saved, best);
  EXPECT_EQ(none.saved_last, "");
  EXPECT_FALSE(std::filesystem::exists(last));
}

TEST_F(ValidationTest, TheLastModelOverwritesNoInput) {
  const std::string save = folder_.path("m.safetensors");
  test_ = folder_.path("m.last.safetensors");
  write_rows("m.last.safetensors", 0, 77);
  const std::string more = cat("save: ", quote(save, 4096), '\n');
  EXPECT_NE(error_of<ConfigError>([&] {
              make(config(validation("  keep_best: {}\n")) + more);
            }).find(cat("save: would overwrite ", quote(test_, 4096), ", which this run reads")),
            std::string::npos);
  make(config(validation("")) + more);
  std::filesystem::remove(test_);
  std::filesystem::create_directory(test_);
  test_ = folder_.write("test.csv", "1,1,1\n2,3,0\n");
  EXPECT_THROW(make(config(validation("  keep_best: {}\n")) + more), IoError) << "it could not be written";
}

TEST_F(ValidationTest, WarnsOfWhatIsUnlikelyToBeMeant) {
  std::filesystem::create_symlink(train_, folder_.path("link.csv"));
  test_ = folder_.path("link.csv");
  const std::vector<std::string> warnings = make(config(validation(""))).warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], cat("validation reads ", quote(test_, 4096),
                             ", which the training reads, too: what was learned by heart looks good there"));
}

TEST_F(ValidationTest, WarnsWhereStateAndParametersPart) {
  const std::string save = cat("save: {file: ", quote(folder_.path("m"), 4096), ", optimizer: true}\n");
  EXPECT_TRUE(make(config(validation("")) + save).warnings().empty());
  EXPECT_EQ(make(config(validation("  keep_best: {}\n")) + save).warnings(),
            std::vector<std::string>{
                "save keeps the optimizer's state of the last step, but the parameters of the best validation"});
}

TEST_F(ValidationTest, ReadsOtherFilesByTheTrainingsOwnOps) {
  Trainer trainer = make(config(cat("  files: ", quote(test_, 4096), "\n  every: 30\n")));
  EXPECT_TRUE(trainer.warnings().empty()) << trainer.warnings()[0];
  EXPECT_EQ(trainer.config().resolved.find("validation")->find("input"), nullptr) << "reads back the same";
  const Trained files = run(std::move(trainer)), list = run(make(config(validation("  every: 30\n", 16))));
  ASSERT_EQ(files.validations.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(files.validations[i].rows, 77u);
    EXPECT_EQ(files.validations[i].loss, list.validations[i].loss);
    EXPECT_EQ(files.validations[i].metrics, list.validations[i].metrics);
  }
}

TEST_F(ValidationTest, WhatAPassLeavesOutIsSaid) {
  std::string text = config(validation(""));
  const std::string queue = cat("files: ", quote(test_, 4096));
  text.replace(text.find(queue), queue.size(), queue + ", shard: {index: 0, count: 1}");
  EXPECT_EQ(make(text).warnings(),
            std::vector<std::string>{"validation reads its rows once, in order, and leaves out filename_queue.shard"});
}

TEST_F(ValidationTest, FaultsAreFoundBeforeTheTraining) {
  const auto fault = [&](std::string text, const std::string& from, const std::string& to) {
    text.replace(text.rfind(from), from.size(), to);
    return error_of<Error>([&] { make(text); });
  };
  const std::string good = config(validation(""));
  EXPECT_EQ(fault(good, "label: {columns: 2}", "lable: {columns: 2}").substr(0, 120),
            cat("t.yaml:10:10: validation.input: the loss reads the field \"label\", but the input gives features: "
                "float32 (2), lable: float32 (1); did you mean lable?")
                .substr(0, 120));
  EXPECT_EQ(
      fault(good, "columns: 0-1", "columns: 0"),
      "t.yaml:10:10: validation.input: the model reads the field features as float32 (2), the input gives float32 "
      "(1); select as many columns as in the training");
  EXPECT_NE(fault(good, "test.csv", "none.csv").find("no file matches"), std::string::npos);
  EXPECT_NE(fault(good, "batch_size: 32", "batch_size: 32, capcity: 3").find("validation.input[3].batch: unknown key"),
            std::string::npos);
  EXPECT_NE(error_of<ConfigError>([&] {
              make(good + "save: " + quote(test_, 4096) + "\n");
            }).find(cat("save: would overwrite ", quote(test_, 4096), ", which this run reads")),
            std::string::npos);
  std::string overwriting = good;
  const std::string decode = "label: {columns: 2}}";
  overwriting.replace(overwriting.find(decode), decode.size(),
                      cat(decode, ", on_bad_row: skip, bad_rows_file: ", quote(test_, 4096)));
  EXPECT_EQ(error_of<ConfigError>([&] { make(overwriting); }),
            cat("t.yaml:4:8: input: writing ", quote(test_, 4096), " would overwrite ", quote(test_, 4096),
                ", which this run reads; give it another name"));
}

TEST_F(ValidationTest, FaultsOfItsDataHaveTheirPlace) {
  folder_.write("test.csv", "1,2,0\n1,2,3\n");
  Trainer trainer = make(config(validation("  every: 5\n")));
  EXPECT_EQ(error_of<DataError>([&] { trainer.run(); }),
            test_ + ":2: the field label holds 3, expected at least 0 and at most 1; 0 stands for no and 1 for yes");
  EXPECT_EQ(trainer.steps(), 5);
  folder_.write("test.csv", "1,2,0\n1,x,0\n");
  Trainer other = make(config(validation("")));
  EXPECT_TRUE(error_of<DataError>([&] { other.run(); }).starts_with(test_ + ":2:3: ")) << "at the end, too";
}

TEST_F(ValidationTest, AFileThatIsGoneLaterIsAFailureOfTheRun) {
  Trainer trainer = make(config(validation("")));
  std::filesystem::remove(test_);
  try {
    trainer.run();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_NE(error.message().find("no file matches"), std::string::npos) << error.what();
  }
}

TEST_F(ValidationTest, IsPartOfTheBoundAndOfTheResolvedConfiguration) {
  Trainer without = make(config()), with = make(config(validation("  keep_best: {}\n", 1000)));
  EXPECT_GE(with.memory_bound(), without.memory_bound() + with.model().bytes() + 1000 * 3 * 64);
  EXPECT_EQ(without.validation_input(), nullptr);
  const InputGraph& input = *with.validation_input();
  EXPECT_GT(input.memory_bound(2), input.memory_bound(1)) << "all threads decode";
  EXPECT_EQ(with.validation_input()->output().batch_size, 1000);
  const Spec& resolved = *with.config().resolved.find("validation");
  EXPECT_EQ(resolved.find("every")->as_int(), 1000);
  EXPECT_EQ(resolved.find("input")->items()[0].find("filename_queue")->find("epochs")->as_int(), 1);
}

TEST_F(ValidationTest, JudgesByTheRowsThatWereHeldOut) {
  std::string text = config("  held_out: true\n  every: 10\n");
  text.insert(text.find("{shuffle_batch"), "{hold_out: {share: 0.25}}, ");
  Trainer trainer = make(text);
  EXPECT_TRUE(trainer.warnings().empty()) << trainer.warnings().front();
  std::vector<ValidationReport> reports;
  const TrainResult result =
      trainer.run({.on_validation = [&](const ValidationReport& report) { reports.push_back(report); }});
  ASSERT_FALSE(reports.empty());
  EXPECT_GT(reports.back().rows, 25u);
  EXPECT_EQ(result.rows + 3 * reports.back().rows, 600u) << "in each epoch all but these";
  ASSERT_EQ(result.input.dropped.size(), 1u);
  EXPECT_EQ(result.input.dropped[0].cause, "hold_out");
  EXPECT_EQ(result.input.dropped[0].rows, 3 * reports.back().rows);
  trainer.save(folder_.path("m.safetensors"));
  const auto judged = [&](std::vector<std::string> data) {
    Predictor predictor(
        {.model = folder_.path("m.safetensors"), .data = std::move(data), .judge = true, .held_out = true});
    while (predictor.next() != nullptr) {
    }
    return std::pair(predictor.rows(), predictor.loss());
  };
  EXPECT_EQ(judged({}).first, reports.back().rows);
  EXPECT_NEAR(judged({}).second, reports.back().loss, 1e-6);
  EXPECT_EQ(judged({train_}).first, reports.back().rows);
  Predictor all({.model = folder_.path("m.safetensors"), .data = {train_}});
  while (all.next() != nullptr) {
  }
  EXPECT_EQ(all.rows(), 200u);
}

TEST_F(ValidationTest, SaysWhereNoRowIsHeldOut) {
  std::string text = config("  held_out: true\n");
  EXPECT_NE(error_of<ConfigError>([&] { make(text); }).find("no op holds any out"), std::string::npos);
  text.insert(text.find("{shuffle_batch"), "{hold_out: {share: 1e-9}}, ");
  Trainer trainer = make(text);
  EXPECT_NE(error_of<DataError>([&] { trainer.run(); }).find("hold_out held none of them out"), std::string::npos);
}

}  // namespace
}  // namespace millrace
