#include "millrace/trainer/config/config.h"

#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/fake_kinds.h"

namespace millrace {
namespace {

constexpr std::string_view kSmall =
    "input: [synthetic]\nmodel:\n  - dense: {units: 3}\nloss: mse\noptimizer: {sgd: {learning_rate: 0.1}}\n";

Config read(std::string_view text, ConfigUse use = ConfigUse::training) {
  return read_config(parse_yaml(text, "f.yaml"), fake_catalog(), use);
}

// The error of the small configuration with `lines` behind it.
std::string rejects(const std::string& lines) {
  return error_of<ConfigError>([&] { read(std::string(kSmall) + lines); });
}
std::string rejects_whole(const std::string& text, ConfigUse use = ConfigUse::training) {
  return error_of<ConfigError>([&] { read(text, use); });
}

TEST(DeviceOf, NamesThePlaceOfADeviceThatCannotBeUsed) {
  const Config config = read(cat(kSmall, "device: cuda:99\n"));
  std::vector<std::string> warnings;
  const std::string error = error_of<DeviceError>([&] { device_of(config, warnings); });
  EXPECT_EQ(error.find("f.yaml:6:9: cuda:99 cannot be used: "), 0u) << error;
  EXPECT_TRUE(warnings.empty());
}

TEST(Config, HasEachDefault) {
  const Config config = read(kSmall);
  EXPECT_EQ(config.seed, 0u);
  EXPECT_EQ(config.device, "auto");
  EXPECT_EQ(config.threads, 0);
  EXPECT_EQ(config.delivery.kind, DeliveryKind::automatic);
  EXPECT_EQ(config.loss.label, "label");
  EXPECT_EQ(config.loss.weight, "");
  EXPECT_TRUE(config.metrics.empty());
  EXPECT_FALSE(config.train.steps.has_value());
  EXPECT_EQ(config.train.log_every, 100);
  EXPECT_FALSE(config.validation.has_value());
  EXPECT_FALSE(config.save.has_value());
  EXPECT_EQ(to_yaml(config.resolved),
            "seed: 0\n"
            "device: auto\n"
            "precision: float32\n"
            "threads: auto\n"
            "input: [synthetic]\n"
            "delivery: auto\n"
            "model:\n"
            "  - dense: {units: 3, activation: none}\n"
            "loss: {mse: {scale: 1, from: label}}\n"
            "optimizer: {sgd: {learning_rate: 0.1}}\n"
            "train: {log_every: 100, report_over: batch, accumulate: 1, on_nonfinite: warn}\n");
}

TEST(Config, ReadsEveryKey) {
  const Config config = read(
      "seed: 23\ndevice: cuda:1\nprecision: tf32\nthreads: 4\ninput: [a, b: {c: 1}]\ndelivery: {kind: feed}\n"
      "model:\n  - dense: {units: 3, activation: relu, name: hidden}\n  - relu\n  - dense: {from: [hidden, extra], "
      "units: 1}\n"
      "loss: {mse: {from: y, weight: w, scale: 2}}\nmetrics: [accuracy, accuracy]\n"
      "optimizer: {sgd: {learning_rate: 0.1}}\ntrain: {steps: 5, log_every: 2}\nvalidation: {input: [v], "
      "every: 7, keep_best: {metric: accuracy_2}}\nsave: m.safetensors\n");
  EXPECT_EQ(config.seed, 23u);
  EXPECT_EQ(config.device, "cuda:1");
  EXPECT_EQ(config.threads, 4);
  EXPECT_EQ(config.input.size(), 2u);
  EXPECT_EQ(config.precision, Precision::tf32);
  EXPECT_EQ(config.delivery.kind, DeliveryKind::feed);
  ASSERT_EQ(config.layers.size(), 3u);
  EXPECT_EQ(config.layers[0].name, "hidden");
  EXPECT_EQ(config.layers[0].kind, "dense");
  EXPECT_EQ(config.layers[1].name, "");
  EXPECT_EQ(config.layers[1].spec.place().text(), "f.yaml:9:5");
  EXPECT_EQ(config.layers[2].from, (std::vector<std::string>{"hidden", "extra"}));
  EXPECT_TRUE(config.layers[0].from.empty());
  EXPECT_NE(config.layers[2].layer, nullptr);
  EXPECT_EQ(config.loss.kind, "mse");
  EXPECT_EQ(config.loss.label, "y");
  EXPECT_EQ(config.loss.weight, "w");
  ASSERT_EQ(config.metrics.size(), 2u);
  EXPECT_EQ(config.metrics[0].name, "accuracy");
  EXPECT_EQ(config.metrics[1].name, "accuracy_2");
  EXPECT_NE(config.optimizer, nullptr);
  EXPECT_EQ(config.train.steps, 5);
  ASSERT_TRUE(config.validation.has_value());
  EXPECT_EQ(config.validation->every, 7);
  EXPECT_EQ(config.validation->watched(), "accuracy_2");
  EXPECT_EQ(config.save->file, "m.safetensors");
}

TEST(Config, ResolvedReadsBackTheSame) {
  Config config = read(
      "input: [a]\nmodel: [{dense: {units: 3, from: x}}, relu]\nloss: {mse: {weight: w}}\nmetrics: accuracy\n"
      "optimizer: {sgd: {learning_rate: 1}}\n");
  const std::string names[] = {"dense", "relu_2"};
  complete_resolved(config, parse_yaml("[a: {x: 1, name: a}]", "g"), names);
  const std::string text = to_yaml(config.resolved);
  EXPECT_NE(text.find("- dense: {units: 3, activation: none, from: [x], name: dense}\n  - relu: {name: relu_2}"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("input:\n  - a: {x: 1, name: a}"), std::string::npos) << text;
  const Config again = read(text);
  EXPECT_EQ(again.layers[0].name, "dense");
  EXPECT_EQ(again.layers[1].name, "relu_2");
  EXPECT_EQ(to_yaml(again.resolved), text);
}

TEST(Config, UnknownKeysAreErrorsWithTheNearest) {
  EXPECT_EQ(rejects("trian: {steps: 1}\n"), "f.yaml:6:1: unknown key trian; did you mean train?");
  EXPECT_EQ(rejects("train: {step: 1}\n"), "f.yaml:6:9: train: unknown key step; did you mean steps?");
  EXPECT_EQ(rejects("evaluation: {}\n"), "f.yaml:6:1: unknown key evaluation; did you mean validation?");
  EXPECT_EQ(rejects("checkpoints: {}\n"), "f.yaml:6:1: unknown key checkpoints; did you mean checkpoint?");
  EXPECT_EQ(rejects("epochs: 3\n"),
            "f.yaml:6:1: unknown key epochs; the keys here are seed, device, precision, threads, input, delivery, "
            "model, loss, metrics, optimizer, train, validation, compare, load, save, checkpoint, log and workers");
  EXPECT_EQ(rejects("delivery: {kind: feed, capcity: 5}\n"),
            "f.yaml:6:24: delivery: unknown key capcity; did you mean capacity?");
  EXPECT_EQ(rejects("metrics: [accuracy: {x: 1}]\n"),
            "f.yaml:6:22: metrics[0].accuracy: unknown key x; there are no options here");
  // A typo of a required key is reported as the typo.
  EXPECT_EQ(rejects_whole("modle: [relu]\ninput: [a]\n"), "f.yaml:1:1: unknown key modle; did you mean model?");
}

TEST(Config, AModelFileIsAPathOrHasOptions) {
  const Config config = read(
      "input: [a]\nmodel: [relu]\nloss: mse\noptimizer: {sgd: {learning_rate: 1}}\nload: a.safetensors\n"
      "save: {file: b.safetensors, optimizer: true}\n");
  EXPECT_EQ(config.load->file, "a.safetensors");
  EXPECT_FALSE(config.load->optimizer);
  EXPECT_EQ(config.save->file, "b.safetensors");
  EXPECT_TRUE(config.save->optimizer);
  const std::string resolved = to_yaml(config.resolved);
  EXPECT_NE(resolved.find("load: a.safetensors\nsave: {file: b.safetensors, optimizer: true}\n"), std::string::npos)
      << resolved;
  EXPECT_EQ(rejects("save: {optimizer: true}\n"),
            "f.yaml:6:7: save: the key file is required (text); file: the path of the model file");
  EXPECT_EQ(rejects("save: \"\"\n"), "f.yaml:6:7: save: expected the path of a file, got an empty text");
  EXPECT_EQ(rejects("load: {file: a, optimiser: true}\n"),
            "f.yaml:6:17: load: unknown key optimiser; did you mean optimizer?");
}

TEST(Config, AbsentKeys) {
  EXPECT_EQ(rejects_whole(""), "f.yaml:1:1: the configuration is empty; it needs at least the key input");
  EXPECT_EQ(rejects_whole("seed: 1\n"),
            "f.yaml:1:1: the key input is required; for example input: [{synthetic: {rows: 1000}}, {batch: "
            "{batch_size: 32}}]");
  EXPECT_EQ(rejects_whole("input: [a]\n"),
            "f.yaml:1:1: the key model is required; for example model: [{dense: {units: 1}}]");
  EXPECT_EQ(rejects_whole("input: [a]\nmodel: [relu]\n"),
            "f.yaml:1:1: the key loss is required; for example loss: sigmoid_cross_entropy");
  EXPECT_EQ(rejects_whole("input: [a]\nmodel: [relu]\nloss: mse\n"),
            "f.yaml:1:1: the key optimizer is required; for example optimizer: {sgd: {learning_rate: 0.1}}");
}

TEST(Config, TheInputAloneNeedsNoModelButChecksIt) {
  EXPECT_TRUE(read("input: [a]\n", ConfigUse::input).layers.empty());
  EXPECT_EQ(rejects_whole("input: [a]\nmodel: [rleu]\n", ConfigUse::input),
            "f.yaml:2:9: model[0]: unknown layer \"rleu\"; did you mean relu?");
  EXPECT_EQ(rejects_whole("seed: 1\n", ConfigUse::input).substr(0, 41), "f.yaml:1:1: the key input is required; fo");
}

TEST(Config, IllTypedValues) {
  EXPECT_EQ(rejects("seed: -1\n"), "f.yaml:6:7: seed: expected at least 0, got -1");
  EXPECT_EQ(rejects("seed: \"1\"\n"), "f.yaml:6:7: seed: expected an integer, got the text \"1\"");
  EXPECT_EQ(rejects("seed:\n"), "f.yaml:6:1: seed: the key has no value; expected integer");
  EXPECT_EQ(rejects("device: gpu\n"), "f.yaml:6:9: device: expected auto, cpu or cuda:0, got \"gpu\"");
  EXPECT_EQ(rejects("device: cuda:x\n"), "f.yaml:6:9: device: expected auto, cpu or cuda:0, got \"cuda:x\"");
  EXPECT_EQ(rejects("threads: 0\n"), "f.yaml:6:10: threads: expected auto or a number from 1 to 4096, got 0");
  EXPECT_EQ(rejects("threads: many\n"), "f.yaml:6:10: threads: expected auto or a number from 1 to 4096, got \"many\"");
  EXPECT_EQ(rejects("delivery: fed\n"),
            "f.yaml:6:11: delivery: expected auto, native, staging, queue, feed or constant, got \"fed\"; did you mean "
            "feed?");
  EXPECT_EQ(rejects("delivery: {kind: fed}\n"),
            "f.yaml:6:18: delivery.kind: expected auto, native, staging, queue, feed or constant, got \"fed\"; did you "
            "mean feed?");
  EXPECT_EQ(rejects("delivery: {kind: {kind: feed}}\n"),
            "f.yaml:6:18: delivery.kind: expected auto, native, staging, queue, feed or constant, got a map");
  EXPECT_EQ(rejects("delivery: {kind: native, capacity: 5}\n"),
            "f.yaml:6:36: delivery.capacity: only the kinds queue and staging have this key; leave it out");
  EXPECT_EQ(rejects("delivery: []\n"),
            "f.yaml:6:11: delivery: expected auto, native, staging, queue, feed or constant, got a list");
  EXPECT_EQ(rejects("train: 5\n"), "f.yaml:6:8: train: expected a map, got 5");
  EXPECT_EQ(rejects("train: {steps: -1}\n"), "f.yaml:6:16: train.steps: expected at least 0, got -1");
  // As a float it would be 0, and nothing would be learned.
  EXPECT_EQ(rejects("train: {clip_norm: 1e-50}\n"), "f.yaml:6:20: train.clip_norm: expected at least 1e-30, got 1e-50");
  EXPECT_EQ(rejects("train: {clip_value: 0}\n"), "f.yaml:6:21: train.clip_value: expected at least 1e-30, got 0");
  EXPECT_EQ(rejects("train: {log_every: 1.5}\n"), "f.yaml:6:20: train.log_every: expected an integer, got 1.5");
  EXPECT_EQ(rejects("save: \"\"\n"), "f.yaml:6:7: save: expected the path of a file, got an empty text");
  EXPECT_EQ(
      rejects("metrics: {accuracy: {}, b: {}}\n"),
      "f.yaml:6:10: metrics[0]: expected a metric as a name or as one name with its options, got a map of 2 keys; "
      "write `name` or `name: {option: value}`; check the indentation of the options");
  EXPECT_EQ(rejects_whole("- a\n"), "f.yaml:1:1: expected a map, got a list");
  EXPECT_EQ(rejects_whole("input: []\n"), "f.yaml:1:8: input: expected at least one item, got an empty list");
  EXPECT_EQ(rejects_whole("input: a\n"), "f.yaml:1:8: input: expected a list, got \"a\"");
}

TEST(Config, ASpecMadeInCodeIsPlacedInItsSource) {
  const Spec spec = Spec::map().set("sed", 1);
  EXPECT_NE(error_of<ConfigError>([&] { read_config(spec, fake_catalog()); }).find("config_test.cpp:"),
            std::string::npos);
}

TEST(Config, TellsItsKeysAndWhichAreNeeded) {
  const auto required = [](ConfigUse use) {
    std::string out;
    for (const OptionInfo& key : describe_config(use)) out += key.required ? key.name + ' ' : "";
    return out;
  };
  EXPECT_EQ(required(ConfigUse::input), "input ");
  EXPECT_EQ(required(ConfigUse::training), "input model loss optimizer ");
  for (const OptionInfo& key : describe_config()) {
    if (key.name == "train") {
      EXPECT_EQ(key.forms.at(0).options.at(0).name, "steps");
    }
    if (key.name == "save") {
      EXPECT_EQ(key.forms.at(1).options.at(0).name, "file");
    }
    if (key.name == "input") {
      EXPECT_EQ(key.forms.at(0).items.at(0).sort, Catalog::builtin().ops.what());
    }
  }
}

}  // namespace
}  // namespace millrace
