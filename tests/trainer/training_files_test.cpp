// The keys `load` and `save` in whole trainings; tests/trainer/validation_test.cpp has the model of the last step.
#include "millrace/trainer/training_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

constexpr std::string_view kConfig =
    "seed: 11\ndevice: cpu\nthreads: 2\ninput:\n  - synthetic: {task: sum, features: 20, rows: 500}\n"
    "  - batch: {batch_size: 16, allow_smaller_final_batch: true}\nmodel:\n  - dense: {units: 30, activation: tanh}\n"
    "  - dense: {units: 1}\nloss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.1}}\n";

Trainer make(const std::vector<std::string>& overrides = {}) {
  Spec config = parse_yaml(kConfig, "t.yaml");
  apply_overrides(config, overrides);
  return Trainer::from_spec(std::move(config));
}

TEST(TrainingFiles, AreSavedWhereTheConfigurationSays) {
  const TempFolder folder;
  const std::string path = folder.path("m.safetensors"), other = folder.path("n.safetensors");
  Trainer trainer = make({"train.steps=2", "save=" + quote(path, 4096)});
  EXPECT_FALSE(std::filesystem::exists(path)) << "not before the end";
  EXPECT_EQ(trainer.run().saved, path);
  EXPECT_EQ(make({"train.steps=2"}).run().saved, "");
  // The file does not depend on its name, nor on where else the training writes.
  make({"train.steps=2", "save=" + quote(other, 4096), "log={json: " + quote(folder.path("log"), 4096) + "}"}).run();
  EXPECT_EQ(TempFolder::read(other), TempFolder::read(path));
  EXPECT_EQ(ModelFile::read(path).entries().size(), 4u);
}

TEST(TrainingFiles, ThatCannotBeWrittenAreKnownBeforeTheTraining) {
  const TempFolder folder;
  const auto saving_to = [](const std::string& path) { return [path] { make({"save=" + quote(path, 4096)}); }; };
  const std::string fifo = folder.path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(error_of<IoError>(saving_to(fifo)), fifo + ": cannot write: it exists and is not a regular file");
  EXPECT_THROW(saving_to(folder.path("none/m"))(), IoError);
  EXPECT_THROW(saving_to(folder.path())(), IoError);
  EXPECT_THROW(saving_to(folder.path(std::string(256, 'm')))(), IoError) << "longer than a name may be";
  std::filesystem::create_symlink(fifo, folder.path("link"));
  EXPECT_THROW(saving_to(folder.path("link"))(), IoError);
  EXPECT_NO_THROW(saving_to(folder.path("m"))());
  EXPECT_FALSE(std::filesystem::exists(folder.path("m")));
}

TEST(TrainingFiles, OverwriteNothingThatIsRead) {
  const TempFolder folder;
  const std::string config = folder.path("c.yaml");
  folder.write("c.yaml", std::string(kConfig) + "save: " + quote(config, 4096) + "\n");
  EXPECT_EQ(error_of<ConfigError>([&] { Trainer::from_file(config); }),
            cat(config, ":12:7: save: would overwrite ", quote(config, 4096),
                ", which this run reads; give it another name"));
}

TEST(TrainingFiles, AnOptimizerGoesOnWhereItEnded) {
  const TempFolder folder;
  const std::string path = quote(folder.path("m.safetensors"), 4096);
  const std::vector<std::string> same = {"input.synthetic={features: 20, rows: 64, constant: true}",
                                         "input.batch.batch_size=8",
                                         "optimizer={adam: {schedule: {linear: {steps: 8}}}}", "model[0]=dropout"};
  const auto run = [&same](const std::vector<std::string>& more) {
    std::vector<std::string> overrides = same;
    overrides.insert(overrides.end(), more.begin(), more.end());
    return make(overrides).run().weights;
  };
  const std::string whole = run({"train.steps=8"});
  run({"train.steps=5", "save={file: " + path + ", optimizer: true}"});
  EXPECT_EQ(run({"train.steps=3", "load={file: " + path + ", optimizer: true}"}), whole)
      << "state, schedule and draws go on";
  EXPECT_NE(run({"train.steps=3", "load=" + path}), whole) << "the values alone";
  try {
    make({"model[0]=dropout", "optimizer={rmsprop: {momentum: 0.9}}", "load={file: " + path + ", optimizer: true}"});
    FAIL();
  } catch (const DataError& error) {
    EXPECT_EQ(error.message(),
              "the saved model does not fit: it holds the state of \"adam\", the optimizer is rmsprop");
  }
}

TEST(TrainingFiles, LoadsWhatAnotherTrainingSaved) {
  const TempFolder folder;
  const std::string path = quote(folder.path("m.safetensors"), 4096);
  // The same batch over and over, so that two trainings in a row see what one long one does.
  const std::string input = "input.synthetic={features: 20, rows: 64, constant: true}";
  const std::string batch = "input.batch.batch_size=8";
  const TrainResult long_one = make({input, batch, "train.steps=8"}).run();
  make({input, batch, "train.steps=5", "save=" + path}).run();
  const TrainResult second = make({input, batch, "train.steps=3", "load=" + path}).run();
  EXPECT_EQ(second.weights, long_one.weights);
  EXPECT_EQ(second.steps, 3);
  EXPECT_NE(make({input, batch, "train.steps=3"}).run().weights, long_one.weights);
  try {
    make({"load={file: " + path + ", optimizer: true}"});
    FAIL();
  } catch (const DataError& error) {
    EXPECT_EQ(error.message(), "the saved model does not fit: it holds no state of an optimizer");
  }
  EXPECT_THROW(make({"load=" + quote(folder.path("none"), 4096)}), MissingError);
}

}  // namespace
}  // namespace millrace
