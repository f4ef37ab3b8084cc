#include "millrace/trainer/config/overrides.h"

#include <chrono>

#include "millrace/core/text.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

constexpr std::string_view kConfig = R"(seed: 1
input:
  - filename_queue: {files: a.csv}
  - csv_reader
  - batch: {batch_size: 5, name: small}
  - batch: {batch_size: 6}
model:
  - dense: {units: 3}
  - relu:
  - dense: {units: 1}
loss: sigmoid_cross_entropy
delivery: auto
metrics: accuracy
optimizer: {sgd: {learning_rate: 0.1}}
train: {steps: 7}
)";

Spec with(std::initializer_list<std::string> settings) {
  Spec config = parse_yaml(kConfig, "f.yaml");
  apply_overrides(config, std::vector<std::string>(settings));
  return config;
}

// The part of the configuration that a test looks at, as text.
std::string part(const Spec& config, std::string_view key) { return to_yaml(*config.find(key)); }

std::string rejects(const std::string& setting) {
  return error_of<ConfigError>([&] { with({setting}); });
}

TEST(Overrides, KeysThatAreThereAndNewOnes) {
  const Spec config =
      with({"train.steps=5", "train.log_every=2", "save=m.safetensors", "seed=9", "new.deep.key=[1, {a: b}]"});
  EXPECT_EQ(part(config, "train"), "steps: 5\nlog_every: 2\n");
  EXPECT_EQ(config.find("save")->as_string(), "m.safetensors");
  EXPECT_EQ(config.find("seed")->as_int(), 9);
  EXPECT_EQ(part(config, "new"), "deep:\n  key: [1, {a: b}]\n");
  EXPECT_EQ(config.find("new")->find("deep")->find("key")->items()[1].find("a")->path(), "new.deep.key[1].a");
}

TEST(Overrides, AnEmptyConfigurationCanBeFilled) {
  Spec config;
  apply_override(config, "a.b=1");
  EXPECT_EQ(to_yaml(config), "a: {b: 1}\n");
}

TEST(Overrides, ItemsByKindNameOrPosition) {
  EXPECT_EQ(part(with({"input.filename_queue.files=b.csv"}), "input").substr(0, 35),
            "- filename_queue: {files: b.csv}\n- ");
  EXPECT_EQ(part(with({"input.csv_reader.header=true"}), "input").substr(33, 31), "- csv_reader: {header: true}\n- ");
  EXPECT_EQ(with({"input.small.batch_size=64"}).find("input")->items()[2].find("batch")->find("batch_size")->as_int(),
            64);
  EXPECT_EQ(with({"input[3].batch_size=64"}).find("input")->items()[3].find("batch")->find("batch_size")->as_int(), 64);
  // The path as messages show it works as well.
  EXPECT_EQ(
      with({"input[3].batch.batch_size=64"}).find("input")->items()[3].find("batch")->find("batch_size")->as_int(), 64);
  EXPECT_EQ(part(with({"model.dense_2.units=10"}), "model"),
            "- dense: {units: 3}\n- relu: null\n- dense: {units: 10}\n");
  EXPECT_EQ(part(with({"model[1].name=r"}), "model"), "- dense: {units: 3}\n- relu: {name: r}\n- dense: {units: 1}\n");
  EXPECT_EQ(part(with({"model.relu.name=r"}), "model"),
            "- dense: {units: 3}\n- relu: {name: r}\n- dense: {units: 1}\n");
}

TEST(Overrides, WholeItemsAndOptions) {
  EXPECT_EQ(part(with({"model[1]=elu"}), "model"), "- dense: {units: 3}\n- elu\n- dense: {units: 1}\n");
  EXPECT_EQ(part(with({"model.dense_2={units: 2, name: x}"}), "model"),
            "- dense: {units: 3}\n- relu: null\n- dense: {units: 2, name: x}\n");
  EXPECT_EQ(part(with({"model=[relu]"}), "model"), "- relu\n");
}

TEST(Overrides, ValuesInPlaceOfOptions) {
  const auto changed = [](const std::string& setting) {
    Spec config = parse_yaml("model: [reshape: [1, 28, 28], flatten]\n", "f.yaml");
    apply_override(config, setting);
    return part(config, "model");
  };
  EXPECT_EQ(changed("model.reshape=[1, 14, 14]"), "- reshape: [1, 14, 14]\n- flatten\n");
  EXPECT_EQ(changed("model[0].reshape=196"), "- reshape: 196\n- flatten\n");
  EXPECT_EQ(changed("model.reshape[1]=14"), "- reshape: [1, 14, 28]\n- flatten\n");
  EXPECT_EQ(changed("model.reshape={shape: 196, name: r}"), "- reshape: {shape: 196, name: r}\n- flatten\n");
  EXPECT_EQ(changed("model.flatten=7"), "- reshape: [1, 28, 28]\n- flatten: 7\n");
  for (const std::string path : {"model.reshape.name", "model[0].name", "model[0].reshape.name"}) {
    EXPECT_EQ(changed(path + "=r"), "- reshape: {shape: [1, 28, 28], name: r}\n- flatten\n") << path;
  }
  const auto rejected = [](const std::string& setting) {
    return error_of<ConfigError>([&] {
      Spec config = parse_yaml("model: [flatten: 7]\n", "f.yaml");
      apply_override(config, setting);
    });
  };
  EXPECT_EQ(rejected("model.flatten.name=f"),
            "--set model.flatten.name=f: model[0].flatten is 7 in place of options, so it has no key \"name\"; replace "
            "it whole: model[0].flatten={name: ..}");
}

// A setting below a short form changes the map that the short form stands for.
TEST(Overrides, ShortFormsAreWrittenOut) {
  const auto changed = [](const std::string& text, const std::string& setting) {
    Spec config = parse_yaml(text, "f.yaml");
    apply_override(config, setting);
    return to_yaml(config);
  };
  const std::string best = "validation.keep_best.metric=auc";
  EXPECT_EQ(changed("validation: {keep_best: true}", best), "validation: {keep_best: {metric: auc}}\n");
  EXPECT_EQ(changed("validation: {keep_best: false}", best), "validation: {keep_best: {metric: auc}}\n");
  EXPECT_EQ(changed("validation: {every: 3}", best), "validation: {every: 3, keep_best: {metric: auc}}\n");
  EXPECT_EQ(changed("validation: {keep_best: auc}", "validation.keep_best.mode=max"),
            "validation: {keep_best: {metric: auc, mode: max}}\n");
  EXPECT_EQ(changed("save: m", "save.optimizer=true"), "save: {file: m, optimizer: true}\n");
  EXPECT_EQ(changed("load: m", "load.optimizer=true"), "load: {file: m, optimizer: true}\n");
  EXPECT_EQ(changed("delivery: queue", "delivery.capacity=9"), "delivery: {kind: queue, capacity: 9}\n");
  EXPECT_EQ(changed("delivery: feed", "delivery.kind=queue"), "delivery: {kind: queue}\n");
  const std::string two = "compare: {deliveries: [feed, queue]}";
  for (const char* path : {"compare.deliveries[1].capacity", "compare.deliveries.queue.capacity"}) {
    EXPECT_EQ(changed(two, cat(path, "=9")), "compare:\n  deliveries: [feed, {kind: queue, capacity: 9}]\n") << path;
  }
  EXPECT_EQ(changed("compare: {deliveries: [feed, {kind: queue}]}", "compare.deliveries[1].capacity=9"),
            "compare:\n  deliveries: [feed, {kind: queue, capacity: 9}]\n");
  EXPECT_EQ(changed("optimizer: {sgd: {schedule: cosine}}", "optimizer.sgd.schedule.cosine.steps=9"),
            "optimizer:\n  sgd:\n    schedule: {cosine: {steps: 9}}\n");
  EXPECT_EQ(changed("input: [filename_queue: {files: a}]", "input.filename_queue.files[0]=b"),
            "input:\n  - filename_queue: {files: [b]}\n");
  EXPECT_EQ(changed("metrics: {auc: {x: 1}}", "metrics.auc.x=2"), "metrics:\n  - auc: {x: 2}\n");
  EXPECT_EQ(changed("model: {dense: {units: 1}}", "model.dense.units=2"), "model: {dense: {units: 2}}\n")
      << "a list is wanted there, as reading it says";
  EXPECT_EQ(error_of<ConfigError>([&] { changed("save: [m]", "save.optimizer=true"); }),
            "--set save.optimizer=true: save has no item \"optimizer\"; its items are m");
}

TEST(Overrides, ShortFormsOfOthersAreWrittenOut) {
  struct Half {
    struct Options {
      int64_t rows = 0;
      void declare(OptionReader& o) {
        o.required("rows", rows, "how many");
        o.stands_alone("rows");
      }
    };
  };
  Catalog catalog = Catalog::builtin();
  catalog.add_op("half", {.doc = "", .describe = describe_options<Half::Options>, .make = nullptr});
  Spec config = parse_yaml("input: [half: 8]\n", "f.yaml");
  apply_override(config, "input.half.name=h", catalog);
  EXPECT_EQ(to_yaml(config), "input:\n  - half: {rows: 8, name: h}\n");
}

TEST(Overrides, KindsOutsideLists) {
  EXPECT_EQ(part(with({"optimizer.sgd.learning_rate=0.5"}), "optimizer"), "sgd: {learning_rate: 0.5}\n");
  EXPECT_EQ(part(with({"loss.sigmoid_cross_entropy.weight=w"}), "loss"), "sigmoid_cross_entropy: {weight: w}\n");
  EXPECT_EQ(part(with({"delivery.kind=feed"}), "delivery"), "kind: feed\n");
  EXPECT_EQ(part(with({"metrics.accuracy.x=1"}), "metrics"), "- accuracy: {x: 1}\n");
  EXPECT_EQ(part(with({"metrics=[]"}), "metrics"), "[]\n");
}

TEST(Overrides, TheLastWinsAndPlacesAreItsOwn) {
  const Spec config = with({"seed=2", "seed=3"});
  EXPECT_EQ(config.find("seed")->as_int(), 3);
  EXPECT_EQ(config.find("seed")->key_place().text(), "--set seed=3");
  EXPECT_EQ(error_of<ConfigError>([] { (void)with({"train.steps=x"}).find("train")->find("steps")->as_int(); }),
            "--set train.steps=x: train.steps: expected an integer, got \"x\"");
  // What the override does not touch keeps its own.
  EXPECT_EQ(config.find("train")->find("steps")->place().text(), "f.yaml:15:16");
}

TEST(Overrides, ValuesAreYaml) {
  EXPECT_TRUE(with({"seed=\"5\""}).find("seed")->quoted());
  EXPECT_TRUE(with({"seed="}).find("seed")->is_null());
  EXPECT_EQ(with({"save=a=b"}).find("save")->as_string(), "a=b");
  EXPECT_EQ(rejects("save=*.csv"),
            "--set save=*.csv: aliases (*name) are not supported; put a text that begins with * into quotes");
  EXPECT_TRUE(rejects("save=\xff").ends_with(": expected UTF-8 text, got a byte that is not UTF-8"));
  EXPECT_EQ(rejects("save=a: b: c").substr(0, 34), "--set save=a: b: c: not valid YAML");
}

TEST(Overrides, ADashIsAText) {
  EXPECT_EQ(with({"input.filename_queue.files=-"})
                .find("input")
                ->items()[0]
                .find("filename_queue")
                ->find("files")
                ->as_string(),
            "-");
}

TEST(Overrides, NullTakesAKeyAway) {
  const Spec config = with({"seed=null", "train.steps=~", "save=null", "model[0].units=null"});
  EXPECT_EQ(config.find("seed"), nullptr);
  EXPECT_EQ(config.find("save"), nullptr);
  ASSERT_NE(config.find("train"), nullptr);
  EXPECT_EQ(config.find("train")->find("steps"), nullptr);
  EXPECT_EQ(part(config, "model"), "- dense: {}\n- relu: null\n- dense: {units: 1}\n");
}

TEST(Overrides, MistakesNameTheNearest) {
  EXPECT_EQ(rejects("input.shufle_batch.batch_size=64"),
            "--set input.shufle_batch.batch_size=64: input has no item \"shufle_batch\"; its items are batch, "
            "csv_reader, filename_queue and small");
  EXPECT_EQ(rejects("input.csv_raeder.header=true"),
            "--set input.csv_raeder.header=true: input has no item \"csv_raeder\"; did you mean csv_reader?");
  EXPECT_EQ(rejects("input.batch.batch_size=1"),
            "--set input.batch.batch_size=1: input has 2 items \"batch\"; write input.small or input[3]");
  EXPECT_EQ(rejects("model.dense.units=1"),
            "--set model.dense.units=1: model has 2 items \"dense\"; write model[0] or model[2]");
  EXPECT_EQ(rejects("model[3].units=1"),
            "--set model[3].units=1: model has 3 items, so there is no [3]; positions count from 0");
  EXPECT_EQ(rejects("optimizer.sdg.learning_rate=1"),
            "--set optimizer.sdg.learning_rate=1: optimizer is sgd, not \"sdg\"; did you mean optimizer.sgd?");
  EXPECT_EQ(rejects("optimizer.learning_rate=1"),
            "--set optimizer.learning_rate=1: optimizer is sgd, not \"learning_rate\"; an option of it is "
            "optimizer.sgd.learning_rate");
  EXPECT_EQ(rejects("loss.mse.weight=w"),
            "--set loss.mse.weight=w: loss is sigmoid_cross_entropy, not \"mse\"; replace it whole: loss={mse: {..}}");
  EXPECT_EQ(rejects("seed.x=1"), "--set seed.x=1: seed is 1, so it has no key \"x\"");
  EXPECT_EQ(rejects("train[0]=1"), "--set train[0]=1: train is a map, so it has no positions");
}

TEST(Overrides, MalformedPaths) {
  EXPECT_EQ(rejects("seed"), "--set seed: expected path=value, got no =; write for example train.steps=100");
  for (const char* path :
       {"", ".", "a.", ".a", "a..b", "a[", "a[x]", "a[1", "a[1]b", "a.[1]", "a[-1]", "a[99999999999999999999]"}) {
    EXPECT_EQ(rejects(std::string(path) + "=1"),
              "--set " + std::string(path) + "=1: expected a path such as train.steps or input[3].batch_size, got \"" +
                  path + "\"");
  }
}

TEST(Overrides, PathsAreNoDeeperThanConfigurations) {
  std::string deepest = "a";
  for (size_t i = 1; i < kMaxYamlDepth; ++i) deepest += ".a";
  EXPECT_NE(with({deepest + "=1"}).find("a"), nullptr);
  EXPECT_EQ(rejects(deepest + ".a=1"), "--set " + deepest + ".a=1: the path has more than 64 steps");
  EXPECT_EQ(rejects(deepest + "[0]=1"), "--set " + deepest + "[0]=1: the path has more than 64 steps");
}

TEST(Overrides, LongTextsAreCut) {
  const std::string text(100000, 'x'), shown = "--set " + std::string(200, 'x') + "...";
  EXPECT_EQ(rejects(text), shown + ": expected path=value, got no =; write for example train.steps=100");
  EXPECT_EQ(rejects(text + "=1"), shown + ": expected a key of at most 256 bytes, got one of 100000");
}

TEST(Overrides, ManyItemsWithoutNamesAreNamedAtOnce) {
  Spec list = Spec::list();
  for (int i = 0; i < 20000; ++i) list.append(Spec::of("queue"));  // tried one by one from the first, 2 * 10^8 names
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(item_names(list).back(), "queue_20000");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

// Only `seed` and `train` are heeded, and a train that is a list is wrong.
std::string heeded_or_not(const std::vector<std::string>& settings) {
  Spec config = parse_yaml("seed: 1\nsave: m\ntrain: {epochs: 1, files: a}\n", "c.yaml");
  const auto heeded = [](const Spec& given) {
    Spec out = only_keys(given, {"seed", "train"});
    if (out.find("train")->is_list()) throw ConfigError("a list");
    out.find("train")->erase("epochs");
    return out;
  };
  try {
    apply_overrides(config, settings, Catalog::builtin(), {.of = heeded, .hint = "leave it out"});
    return "heeded";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

TEST(Overrides, ASettingThatNobodyHeedsIsAnError) {
  EXPECT_EQ(heeded_or_not({"seed=2", "train.files=b", "train.shuffle=true"}), "heeded");
  EXPECT_EQ(heeded_or_not({"seed=2", "save=n"}), "--set save=n: the setting changes nothing here; leave it out");
  EXPECT_EQ(heeded_or_not({"train.epochs=2"}), "--set train.epochs=2: the setting changes nothing here; leave it out");
  EXPECT_EQ(heeded_or_not({"train.epochs=null"}),
            "--set train.epochs=null: the setting changes nothing here; leave it out");
  EXPECT_EQ(heeded_or_not({"validation.every=2"}),
            "--set validation.every=2: the setting changes nothing here; leave it out");
}

TEST(Overrides, WhatStandsThereAlreadyMayBeSet) {
  EXPECT_EQ(heeded_or_not({"save=m", "seed=1", "train={epochs: 1, files: a}"}), "heeded");
  Spec config = parse_yaml("seed: 1\n", "c.yaml");
  int looks = 0;
  const auto heeded = [&](const Spec& given) {
    ++looks;
    return given;
  };
  const std::vector<std::string> settings = {"seed=1", "seed=2", "seed=2"};
  apply_overrides(config, settings, Catalog::builtin(), {.of = heeded});
  EXPECT_EQ(looks, 2) << "before the settings, and after the one that changes something";
}

TEST(Overrides, WhereTheConfigurationIsWrongNothingIsKnown) {
  EXPECT_EQ(heeded_or_not({"train=[]", "save=n"}), "heeded");
  EXPECT_EQ(heeded_or_not({"train=[]", "train={files: b}", "save=n"}),
            "--set save=n: the setting changes nothing here; leave it out");
}

TEST(Overrides, DefaultNamesLeaveGivenOnesAlone) {
  const Spec list = parse_yaml(
      "[dense, {dense: {name: dense_2}}, dense, {relu: {}}, {dense: {name: dense}}, [1], {a: 1, b: 2}]", "f");
  EXPECT_EQ(item_names(list), (std::vector<std::string>{"dense_3", "dense_2", "dense_4", "relu", "dense", "", ""}));
}

}  // namespace
}  // namespace millrace
