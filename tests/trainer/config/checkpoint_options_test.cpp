#include "millrace/trainer/config/checkpoint_options.h"

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

CheckpointOptions read(const std::string& text) {
  Spec node = parse_yaml(text, "f.yaml");
  node.set_path("checkpoint");
  return OptionType<CheckpointOptions>::read(node);
}
std::string rejects(const std::string& text) {
  return error_of<ConfigError>([&] { read(text); });
}

TEST(CheckpointOptions, HasEachDefault) {
  const CheckpointOptions options = read("{dir: runs/a}");
  EXPECT_EQ(options.dir, "runs/a");
  EXPECT_FALSE(options.every.has_value());
  EXPECT_EQ(options.minutes, 10);
  EXPECT_EQ(options.keep, 3);
  EXPECT_EQ(to_yaml(OptionType<CheckpointOptions>::write(options)), "dir: runs/a\nminutes: 10\nkeep: 3\n");
}

TEST(CheckpointOptions, MayBeOnlyTheFolder) {
  const CheckpointOptions options = read("runs/a");
  EXPECT_EQ(options.dir, "runs/a");
  EXPECT_EQ(options.minutes, 10);
}

TEST(CheckpointOptions, ReadsEveryKey) {
  const CheckpointOptions options = read("{dir: runs/a, every: 500, minutes: 0.5, keep: 1}");
  EXPECT_EQ(options.every, 500);
  EXPECT_EQ(options.minutes, 0.5);
  EXPECT_EQ(options.keep, 1);
  const std::string text = to_yaml(OptionType<CheckpointOptions>::write(options));
  EXPECT_EQ(to_yaml(OptionType<CheckpointOptions>::write(read(text))), text);
}

TEST(CheckpointOptions, StepsAloneNeedNoMinutes) {
  const CheckpointOptions options = read("{dir: runs/a, every: 500}");
  EXPECT_FALSE(options.minutes.has_value());
  EXPECT_EQ(to_yaml(OptionType<CheckpointOptions>::write(options)), "dir: runs/a\nevery: 500\nkeep: 3\n");
}

TEST(CheckpointOptions, RejectsWhatMakesNoSense) {
  EXPECT_EQ(rejects("{every: 5}"),
            "f.yaml:1:1: checkpoint: the key dir is required (text); dir: the folder of the checkpoints; it is made if "
            "it is missing");
  EXPECT_EQ(rejects("\"\""), "f.yaml:1:1: checkpoint: expected the path of a folder, got an empty text");
  EXPECT_EQ(rejects("{dir: \"\"}"), "f.yaml:1:7: checkpoint.dir: expected the path of a folder, got an empty text");
  EXPECT_EQ(rejects("{dir: a, every: 0}"), "f.yaml:1:17: checkpoint.every: expected at least 1, got 0");
  EXPECT_EQ(rejects("{dir: a, minutes: 0}"),
            "f.yaml:1:19: checkpoint.minutes: expected more than 0 and at most 1000000, got 0");
  EXPECT_EQ(rejects("{dir: a, keep: 0}"), "f.yaml:1:16: checkpoint.keep: expected at least 1, got 0");
  EXPECT_EQ(rejects("{dir: a, evry: 5}"), "f.yaml:1:10: checkpoint: unknown key evry; did you mean every?");
  EXPECT_EQ(rejects("[a]"), "f.yaml:1:1: checkpoint: expected a text, got a list");
}

// A training that keeps its checkpoints in `folder`.
std::string training(const TempFolder& folder) {
  return cat(
      "device: cpu\n"
      "input: [synthetic: {features: 4, rows: 20}, batch: {batch_size: 4}]\n"
      "model: [dense: {units: 1}]\n"
      "loss: sigmoid_cross_entropy\n"
      "optimizer: {sgd: {learning_rate: 0.1}}\n"
      "checkpoint: ",
      folder.path("runs"), '\n');
}

// Known before the first step.
TEST(CheckpointOptions, NeedDataThatCanBeAskedForAgain) {
  const TempFolder folder;
  Trainer::from_string(training(folder), "f.yaml");
  Catalog catalog = Catalog::builtin();
  catalog.add_op("sensor", callback_op({.rows = {{{"features", DType::f32, Shape{4}}, {"label", DType::f32, Shape{1}}}},
                                        .fill = [](RowBlock& block, uint32_t) { block.resize(0); }}));
  const std::string overrides[] = {"input=[sensor: {name: heart}, batch: {batch_size: 4}]"};
  EXPECT_EQ(
      error_of<ConfigError>([&] { Trainer::from_string(training(folder), "f.yaml", std::span(overrides), catalog); }),
      "f.yaml:6:13: checkpoint: the rows of heart come only once, so no training can go on with them from a "
      "checkpoint; write them to files first, or leave checkpoint out");
}

TEST(CheckpointOptions, NeedATrainingThatGoesOn) {
  const TempFolder folder;
  EXPECT_EQ(error_of<ConfigError>([&] { Trainer::from_string(training(folder), "f.yaml", {"delivery=constant"}); }),
            "f.yaml:6:13: checkpoint: delivery constant trains on one batch, for measuring: that is nothing to go on "
            "with; leave checkpoint out, or choose another delivery");
}

TEST(CheckpointOptions, AreNotTheBusinessOfAModelFile) {
  const TempFolder folder;
  Trainer trainer = Trainer::from_string(training(folder), "f.yaml", {"train.steps=1"});
  EXPECT_NE(trainer.resolved().find("checkpoint"), nullptr);
  trainer.run();
  trainer.save(folder.path("m.safetensors"));
  EXPECT_EQ(TempFolder::read(folder.path("m.safetensors")).find("checkpoint"), std::string::npos);
}

}  // namespace
}  // namespace millrace
