// The files in configs/ are read, trained with, and read again from what was saved.
#include <algorithm>

#include "millrace/trainer/generate.h"
#include "millrace/trainer/model_file.h"
#include "millrace/trainer/saved_model.h"
#include "millrace/trainer/trainer.h"
#include "millrace/trainer/yaml.h"
#include "millrace/trainer/yaml_writer.h"
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
  EXPECT_EQ(names, (std::vector<std::string>{"mlp.yaml", "synthetic.yaml"})) << "each has a test below";
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

}  // namespace
}  // namespace millrace
