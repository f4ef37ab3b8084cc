// The files in configs/ are read, trained with, and read again from what was saved.
#include <algorithm>

#include "millrace/cli/compare/comparison.h"
#include "millrace/cli/generate/generate.h"
#include "millrace/core/text.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/files/model_file.h"
#include "millrace/trainer/files/saved_model.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/cuda.h"
#include "tests/support/paths.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

std::string config_path(const std::string& name) { return test::source_dir() + "/configs/" + name; }

TEST(Configs, AllAreNamedHere) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_dir() + "/configs")) {
    if (entry.is_regular_file()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"breast_cancer.yaml", "diabetes.yaml", "digits.yaml", "digits_cnn.yaml",
                                             "iris.yaml", "lenet.yaml", "mlp.yaml", "queue_vs_feed.yaml",
                                             "queue_vs_feed_csv.yaml", "synthetic.yaml", "wine.yaml"}))
      << "each has a test below";
}

TEST(Configs, MlpIsTheTrainingOfTheNotebook) {
  const TempFolder folder;
  generate_sum({.folder = folder.path()});
  const std::vector<std::string> overrides = {"device=cpu",
                                              "input.filename_queue.files=\"" + folder.path("examples-*.csv") + "\""};
  Trainer trainer = Trainer::from_file(config_path("mlp.yaml"), overrides);
  std::vector<int64_t> logged;
  TrainCallbacks callbacks;
  callbacks.on_step = [&](const StepReport& report) { logged.push_back(report.step); };
  const TrainResult result = trainer.run(callbacks);
  EXPECT_EQ(result.reason, "end of data");
  EXPECT_EQ(result.steps, 174);
  EXPECT_EQ(result.rows, 4000u);
  EXPECT_EQ(result.epochs, 2u);
  EXPECT_EQ(result.last_batch, 21);
  EXPECT_TRUE(result.input.dropped.empty());
  EXPECT_EQ(logged, (std::vector<int64_t>{20, 40, 60, 80, 100, 120, 140, 160}));
  ASSERT_EQ(result.metrics.size(), 1u);
  // A guess is right half the time.
  EXPECT_GT(result.metrics[0].second, 0.6);
  EXPECT_LT(result.loss, 0.69);
}

TEST(Configs, SyntheticRunsWithoutFilesAndIsSavedWhole) {
  const TempFolder folder;
  const std::vector<std::string> overrides = {"device=cpu", "input.synthetic.rows=600"};
  Trainer trainer = Trainer::from_file(config_path("synthetic.yaml"), overrides);
  const TrainResult result = trainer.run();
  EXPECT_EQ(result.steps, 3);
  EXPECT_EQ(result.rows, 600u);
  EXPECT_EQ(result.last_batch, 600 - 2 * 256);
  trainer.save(folder.path("m.safetensors"));

  // The saved configuration makes the same training, and the saved values the same model.
  const ModelFile file = ModelFile::read(folder.path("m.safetensors"));
  const Spec saved = saved_config(file);
  EXPECT_EQ(to_yaml(saved), to_yaml(trainer.config().resolved));
  Trainer again = Trainer::from_spec(saved);
  EXPECT_EQ(again.run().weights, result.weights);

  Executor executor(1);
  Context context(Device::cpu(), executor);
  Trainer fresh = Trainer::from_spec(saved);
  EXPECT_NE(weights_hash(fresh.model(), context), result.weights);
  load_model(file, fresh.model(), context);
  EXPECT_EQ(weights_hash(fresh.model(), context), result.weights);
}

TEST(Configs, QueueVersusFeedTrainsTheSameModels) {
  Spec config = read_yaml_file(config_path("queue_vs_feed.yaml"));
  apply_overrides(config, std::vector<std::string>{"device=cpu", "train.steps=13", "compare.rounds=1",
                                                   "input.synthetic.features=16", "model[0].units=8"});
  const Comparison found = Comparer(config).run().value();
  std::vector<std::string> names;
  for (const ComparedDelivery& delivery : found.deliveries) names.push_back(delivery.name);
  EXPECT_EQ(names, (std::vector<std::string>{"feed", "queue", "staging", "native", "constant", "queue of 128",
                                             "constant of 128"}));
  EXPECT_TRUE(found.equal_weights());
  EXPECT_EQ(found.deliveries[1].capacity, 5);
}

TEST(Configs, QueueVersusFeedOnTextTrainsTheSameModels) {
  const TempFolder folder;
  generate_sum({.folder = folder.path(), .files = 3, .rows = 1200});
  Spec config = read_yaml_file(config_path("queue_vs_feed_csv.yaml"));
  apply_overrides(config, std::vector<std::string>{"device=cpu", "train.steps=13", "compare.rounds=1",
                                                   cat("input.filename_queue.files=\"", folder.path("*.csv"), '"')});
  const Comparison found = Comparer(config).run().value();
  EXPECT_EQ(found.deliveries.size(), 5u);
  EXPECT_TRUE(found.equal_weights());
}

// What `metric` is on the rows held out, behind the last step.
double score_with(const std::string& config, const std::string& metric, const std::vector<std::string>& overrides) {
  Spec spec = read_yaml_file(config_path(config + ".yaml"));
  apply_overrides(spec, overrides);
  std::vector<ValidationReport> reports;
  TrainCallbacks callbacks;
  callbacks.on_validation = [&](const ValidationReport& report) { reports.push_back(report); };
  Trainer trainer = Trainer::from_spec(std::move(spec));
  EXPECT_TRUE(trainer.warnings().empty());
  EXPECT_EQ(trainer.run(callbacks).reason, "end of data");
  for (const auto& [name, value] : reports.back().metrics) {
    if (name == metric) return value;
  }
  return -1;
}

// The same with the data in configs/data. `rows`: their name, where it is another one.
double score_of(const std::string& config, const std::string& metric, const std::string& rows = {}) {
  const std::string data = test::source_dir() + "/configs/data/" + (rows.empty() ? config : rows);
  return score_with(config, metric,
                    {"device=cpu", "input.filename_queue.files=" + quote(data + "-train.csv", 4096),
                     "validation.files=" + quote(data + "-test.csv", 4096)});
}

// One row less than what scripts/export-datasets --compare says of scikit-learn's MLP, or better; the README has more.
TEST(Configs, RealDataAreLearned) {
  EXPECT_GE(score_of("iris", "accuracy"), 37.0 / 38);
  EXPECT_GE(score_of("wine", "accuracy"), 44.0 / 45);
  EXPECT_GE(score_of("breast_cancer", "accuracy"), 135.0 / 143);
  EXPECT_GE(score_of("digits", "accuracy"), 439.0 / 450);
  EXPECT_GE(score_of("diabetes", "r2"), 0.3);
}

TEST(Configs, ConvolutionsReadDigits) { EXPECT_GE(score_of("digits_cnn", "accuracy", "digits"), 0.98); }

// On fewer rows than the configuration names, in smaller batches, so that seconds are enough. A linear model does not
// find the digits wherever they stand.
TEST(Configs, LenetReadsImages) {
  if (test::kEmulated) GTEST_SKIP() << "takes long";
  const TempFolder folder;
  generate_images({.folder = folder.path(), .files = 12, .rows = 400});
  const std::vector<std::string> data = {"input.filename_queue.files=" + quote(folder.path("examples-0*.csv"), 4096),
                                         "input.filename_queue.epochs=2", "input.shuffle_batch.batch_size=16",
                                         "validation.files=" + quote(folder.path("examples-1*.csv"), 4096),
                                         "validation.every=1000"};
  EXPECT_GE(score_with("lenet", "accuracy", data), 0.8);
  std::vector<std::string> linear = data;
  linear.emplace_back("model=[dense: {units: 10}]");
  EXPECT_LE(score_with("lenet", "accuracy", linear), 0.5);
}

}  // namespace
}  // namespace millrace
