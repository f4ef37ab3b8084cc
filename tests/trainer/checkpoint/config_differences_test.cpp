#include "millrace/trainer/checkpoint/config_differences.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <set>

#include "millrace/core/text.h"
#include "millrace/layers/schedule/schedule.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using Texts = std::vector<std::string>;

constexpr auto kGoOn = " the value of the checkpoint to go on, or give checkpoint.dir another folder to begin anew";
constexpr auto kSchedule = "; optimizer.adam.schedule.cosine.steps is 20, so the schedule ";

// A configuration with many kinds of keys. saved() is what a checkpoint holds of it, after settings; notes() and
// refused() compare that with the configuration after other settings.
class ConfigDifferences : public ::testing::Test {
 protected:
  ConfigDifferences() {
    for (const char* name : {"a.csv", "b.csv"}) folder_.write(name, "0.5,1,1\n1,0.25,0\n2,1,1\n0,1,0\n1,1,1\n0,0,0\n");
  }

  std::string text(const std::string& batch_size = "4") const {
    return cat(
        "device: cpu\n"
        "seed: 3\n"
        "threads: 2\n"
        "input:\n"
        "  - filename_queue: {files: ",
        folder_.path("a.csv"),
        ", epochs: 2}\n"
        "  - csv_reader\n"
        "  - decode_csv: {on_bad_row: skip, fields: {features: {columns: 0-1}, label: {columns: 2}}}\n"
        "  - repeat: {epochs: 3}\n"
        "  - shuffle_batch: {batch_size: ",
        batch_size,
        ", min_after_dequeue: 5}\n"
        "model:\n"
        "  - dense: {units: 3, activation: relu}\n"
        "  - dropout: 0.5\n"
        "  - dense: {units: 1}\n"
        "loss: sigmoid_cross_entropy\n"
        "metrics: accuracy\n"
        "optimizer: {adam: {schedule: {cosine: {steps: 20}}}}\n"
        "train: {steps: 20}\n"
        "validation: {files: ",
        folder_.path("b.csv"),
        ", every: 5, patience: 3, keep_best: true}\n"
        "checkpoint: {dir: ",
        folder_.path("runs"), ", every: 5}\n");
  }

  Spec saved(const Texts& settings = {}) {
    const Trainer trainer = Trainer::from_string(text(), "f.yaml", std::span(settings), catalog_);
    return parse_yaml(to_yaml(trainer.resolved()), "c.safetensors:config");
  }
  Texts notes(const Spec& before, const std::string& now, const Texts& settings) {
    const Trainer trainer = Trainer::from_string(now, "f.yaml", std::span(settings), catalog_);
    return compare_configs(before, trainer.config(), catalog_);
  }
  Texts notes(const Texts& settings) { return notes(saved(), text(), settings); }
  std::string refused(const Texts& settings) {
    return error_of<ConfigError>([&] { notes(settings); });
  }

  const TempFolder folder_;
  Catalog catalog_ = Catalog::builtin();
};

TEST_F(ConfigDifferences, TheSameConfigurationGoesOn) { EXPECT_THAT(notes({}), IsEmpty()); }

TEST_F(ConfigDifferences, KeysThatDecideNothingPassInSilence) {
  const Texts settings = {"threads=3",
                          "threads=auto",
                          "delivery=feed",
                          "delivery={kind: queue, capacity: 2, threads: 1}",
                          "compare={rounds: 2}",
                          "save=" + folder_.path("m.safetensors"),
                          "checkpoint.dir=" + folder_.path("others"),
                          "checkpoint.every=7",
                          "checkpoint.minutes=1",
                          "checkpoint.keep=9",
                          "checkpoint=null",
                          "train.log_every=7",
                          "input.csv_reader.chunk_bytes=99",
                          "input.decode_csv.bad_rows_file=" + folder_.path("bad.jsonl"),
                          "input.shuffle_batch.capacity=50",
                          "input.shuffle_batch.threads=2"};
  for (const std::string& setting : settings) EXPECT_THAT(notes({setting}), IsEmpty()) << setting;
  EXPECT_THAT(notes(saved({"save=" + folder_.path("m.safetensors"), "delivery=staging"}), text(), {}), IsEmpty());
}

TEST_F(ConfigDifferences, TheDeviceHasANote) {
  EXPECT_THAT(notes({"device=auto"}),
              ElementsAre("device was cpu in the checkpoint, and is auto now: the rows are the same, the weights may "
                          "differ in their last bits"));
}

TEST_F(ConfigDifferences, TheStepsHaveANoteThatNamesAShorterSchedule) {
  const std::string was = "train.steps was 20 in the checkpoint, and is ";
  EXPECT_THAT(notes({"train.steps=40"}), ElementsAre(cat(was, "40 now", kSchedule, "ends before the training")));
  EXPECT_THAT(notes({"train.steps=null"}),
              ElementsAre(cat(was, "absent now", kSchedule, "may end before the training")));
  EXPECT_THAT(notes({"train.steps=10"}), ElementsAre(was + "10 now"));
  EXPECT_THAT(notes(saved({"train.steps=5"}), text(), {}),
              ElementsAre("train.steps was 5 in the checkpoint, and is 20 now"));
  // Schedules count updates, not batches.
  const Spec two = saved({"train.accumulate=2"});
  EXPECT_THAT(notes(two, text(), {"train.accumulate=2", "train.steps=40"}), ElementsAre(was + "40 now"));
  EXPECT_THAT(notes(two, text(), {"train.accumulate=2", "train.steps=41"}),
              ElementsAre(cat(was, "41 now", kSchedule, "ends before the training")));
}

TEST_F(ConfigDifferences, EpochsHaveANote) {
  EXPECT_THAT(notes({"input.filename_queue.epochs=5"}),
              ElementsAre("input[0].filename_queue.epochs was 2 in the checkpoint, and is 5 now"));
  EXPECT_THAT(notes({"input.filename_queue.epochs=1"}),
              ElementsAre("input[0].filename_queue.epochs was 2 in the checkpoint, and is 1 now"));
  EXPECT_THAT(notes({"input.repeat.epochs=4"}),
              ElementsAre("input[3].repeat.epochs was 3 in the checkpoint, and is 4 now"));
  const Texts endless = {"train.steps=null"};
  EXPECT_THAT(notes(saved(endless), text(), {"train.steps=null", "input.repeat.epochs=null"}),
              ElementsAre(cat("input[3].repeat.epochs was 3 in the checkpoint, and is absent now", kSchedule,
                              "may end before the training")));
}

TEST_F(ConfigDifferences, PatienceHasANote) {
  EXPECT_THAT(notes({"validation.patience=9"}),
              ElementsAre("validation.patience was 3 in the checkpoint, and is 9 now"));
  EXPECT_THAT(notes({"validation.patience=null"}),
              ElementsAre("validation.patience was 3 in the checkpoint, and is absent now"));
}

TEST_F(ConfigDifferences, EachHasItsNote) {
  EXPECT_THAT(notes({"train.steps=30", "device=auto", "input.repeat.epochs=9", "validation.patience=1", "threads=1"}),
              ElementsAre(StartsWith("device was "), StartsWith("input[3].repeat.epochs was "),
                          StartsWith("train.steps was "), StartsWith("validation.patience was ")));
}

TEST_F(ConfigDifferences, AnythingElseIsAnErrorWithItsLine) {
  EXPECT_EQ(error_of<ConfigError>([&] { notes(saved(), text("8"), {}); }),
            cat("f.yaml:9:33: input[4].shuffle_batch.batch_size: the checkpoint has 4, the configuration 8; give "
                "input[4].shuffle_batch.batch_size",
                kGoOn));
}

TEST_F(ConfigDifferences, AnythingElseIsAnErrorByName) {
  struct Case {
    std::string setting, key, saved, now;
  };
  const std::string a = folder_.path("a.csv"), b = folder_.path("b.csv");
  const Case cases[] = {
      {"seed=4", "seed", "3", "4"},
      {"input.filename_queue.shuffle=false", "input[0].filename_queue.shuffle", "true", "false"},
      {"input.csv_reader.readers=2", "input[1].csv_reader.readers", "1", "2"},
      {"input.decode_csv.fields.label.columns=1", "input[2].decode_csv.fields.label.columns", "2", "1"},
      {"input.shuffle_batch.min_after_dequeue=6", "input[4].shuffle_batch.min_after_dequeue", "5", "6"},
      {"input.shuffle_batch.allow_smaller_final_batch=true", "input[4].shuffle_batch.allow_smaller_final_batch",
       "false", "true"},
      {"model[0].units=4", "model[0].dense.units", "3", "4"},
      {"model[1].rate=0.25", "model[1].dropout.rate", "0.5", "0.25"},
      {"model[1]=relu", "model[1]", "dropout", "relu"},
      {"model[2].name=last", "model[2].dense.name", "dense_2", "last"},
      {"loss=hinge", "loss", "sigmoid_cross_entropy", "hinge"},
      {"metrics=[accuracy, auc]", "metrics", "[accuracy]", "[accuracy, auc]"},
      {"optimizer={sgd: {learning_rate: 0.1}}", "optimizer", "adam", "sgd"},
      {"optimizer.adam.learning_rate=0.1", "optimizer.adam.learning_rate", "0.001", "0.1"},
      {"optimizer.adam.schedule=constant", "optimizer.adam.schedule", "cosine", "constant"},
      {"optimizer.adam.schedule.cosine.steps=40", "optimizer.adam.schedule.cosine.steps", "20", "40"},
      {"train.report_over=window", "train.report_over", "batch", "window"},
      {"train.accumulate=2", "train.accumulate", "1", "2"},
      {"train.on_nonfinite=skip", "train.on_nonfinite", "warn", "skip"},
      {"validation.every=6", "validation.every", "5", "6"},
      {"validation.keep_best=accuracy", "validation.keep_best.metric", "loss", "accuracy"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(refused({one.setting}), cat("--set ", one.setting, ": ", one.key, ": the checkpoint has ", one.saved,
                                          ", the configuration ", one.now, "; give ", one.key, kGoOn));
  }
  EXPECT_THAT(refused({"input.filename_queue.files=" + b}), HasSubstr(": input[0].filename_queue.files[0]: "));
  EXPECT_THAT(refused({cat("input.filename_queue.files=[", a, ", ", b, "]")}),
              HasSubstr(": input[0].filename_queue.files: the checkpoint has ["));
  EXPECT_THAT(refused({"validation.files=" + a}), HasSubstr(": validation.files[0]: the checkpoint has "));
}

TEST_F(ConfigDifferences, WhatCameOrWentIsAnErrorToo) {
  EXPECT_EQ(refused({"train.clip_norm=1"}),
            "--set train.clip_norm=1: train.clip_norm: the checkpoint has no value, the configuration 1; leave "
            "train.clip_norm out to go on, or give checkpoint.dir another folder to begin anew");
  EXPECT_EQ(
      refused({"validation.keep_best=null"}),
      cat("f.yaml:18:13: validation.keep_best: the checkpoint has {metric: loss, mode: auto}, the configuration no "
          "value; give validation.keep_best",
          kGoOn));
  EXPECT_THAT(refused({"validation=null"}), StartsWith("f.yaml:1:1: validation: the checkpoint has {files: ["));
  EXPECT_THAT(refused({"metrics=null"}), StartsWith("f.yaml:1:1: metrics: the checkpoint has [accuracy], the "));
  EXPECT_THAT(refused({"validation=null", "input=[synthetic: {features: 2}, batch: {batch_size: 4}]"}),
              HasSubstr(": input: the checkpoint has [filename_queue, csv_reader, decode_csv, repeat, shuffle_batch], "
                        "the configuration [synthetic, batch] (validation differs, too); "));
  const std::string model = folder_.path("m.safetensors");
  Trainer::from_string(text(), "f.yaml", {}, catalog_).save(model);
  EXPECT_THAT(refused({"load=" + model}), HasSubstr(": load: the checkpoint has no value, the configuration "));
}

TEST_F(ConfigDifferences, SeveralAreNamedTogether) {
  EXPECT_THAT(refused({"seed=4", "train.accumulate=2"}),
              HasSubstr("seed: the checkpoint has 3, the configuration 4 (train.accumulate differs, too); give seed"));
  EXPECT_THAT(refused({"seed=4", "train.accumulate=2", "loss=hinge", "model[0].units=9", "validation.every=1"}),
              HasSubstr(" (model[0].dense.units, loss, train.accumulate and 1 more differ, too); "));
}

TEST_F(ConfigDifferences, OtherSpellingsAreTheSame) {
  const std::string a = folder_.path("a.csv"), b = folder_.path("b.csv");
  const std::string relative = std::filesystem::relative(a).string();
  const Texts settings = {"seed=+3",
                          "input.filename_queue.files=[" + a + "]",
                          "input.filename_queue.files=" + relative,
                          "input.filename_queue.files=" + folder_.path("./a.csv"),
                          "input.filename_queue.name=filename_queue",
                          "input.csv_reader.header=false",
                          "model[0].name=dense",
                          "model[1]={dropout: {rate: 5.0e-1}}",
                          "loss={sigmoid_cross_entropy: {from: label}}",
                          "metrics=[accuracy]",
                          "optimizer={adam: {learning_rate: 1e-3, schedule: {cosine: {final: 0, steps: 20}}}}",
                          "train.accumulate=1",
                          "validation.files=[" + folder_.path("../") +
                              std::filesystem::path(folder_.path()).parent_path().filename().string() + "/b.csv]",
                          "validation.keep_best={metric: loss}"};
  for (const std::string& setting : settings) EXPECT_THAT(notes({setting}), IsEmpty()) << setting;
  const Spec without = saved({"validation.keep_best=false"});
  EXPECT_THAT(notes(without, text(), {"validation.keep_best=null"}), IsEmpty());
}

TEST_F(ConfigDifferences, WhatEarlierVersionsLackHasItsDefault) {
  Spec before = saved();
  before.find("train")->erase("accumulate");
  before.find("input")->item(1)->find("csv_reader")->erase("skip_lines");
  EXPECT_THAT(notes(before, text(), {}), IsEmpty());
  EXPECT_THAT(error_of<ConfigError>([&] { notes(before, text(), {"train.accumulate=2"}); }),
              HasSubstr("train.accumulate: the checkpoint has 1, the configuration 2"));
  before.set("shards", 4);  // a key of a later version
  EXPECT_THAT(error_of<ConfigError>([&] { notes(before, text(), {}); }),
              StartsWith("f.yaml:1:1: shards: the checkpoint has 4, the configuration no value; "));
}

TEST_F(ConfigDifferences, TextsOfTheCheckpointAreShownAsTexts) {
  Spec before = saved();
  before.set("seed", "a\nb" + std::string(1000, 'x'));
  const std::string error = error_of<ConfigError>([&] { notes(before, text(), {}); });
  EXPECT_THAT(error, HasSubstr("seed: the checkpoint has \"a\\nbxxx"));
  EXPECT_LT(error.size(), 400u);
}

TEST_F(ConfigDifferences, ACheckpointThatLiesIsAnErrorToo) {
  EXPECT_THAT(error_of<ConfigError>([&] { notes(parse_yaml("[1]", "c.safetensors:config"), text(), {}); }),
              StartsWith("c.safetensors:config:1:1: expected a map"));
  Spec before = saved();
  before.find("input")->item(0)->set("two", 1);
  EXPECT_THAT(error_of<ConfigError>([&] { notes(before, text(), {}); }), StartsWith("c.safetensors:config:"));
}

// Compares configurations that have only one key, with the values 1 and 2. Nothing reads the values, so they need not
// make sense.
class EveryOption : public ::testing::Test {
 protected:
  // Calls body(above, option) for each option, and for the options inside it.
  template <class Body>
  static void for_each(const std::vector<OptionInfo>& options, const std::string& above, const Body& body) {
    for (const OptionInfo& option : options) {
      body(above, option);
      for (const OptionForm& form : option.forms) for_each(form.options, cat(above, option.name, '.'), body);
    }
  }

  // Checks what a difference in the option at `path` leads to. `around` puts a value of the option into a
  // configuration.
  template <class Around>
  void check(const OptionInfo& option, const std::string& path, const Around& around) {
    Config config;
    config.resolved = config.written = around(Spec::of(2));
    Texts found;
    std::string error;
    try {
      found = compare_configs(around(Spec::of(1)), config, catalog_);
    } catch (const ConfigError& thrown) {
      error = thrown.message();
    }
    if (option.decides == Decides::results) {
      // The error for a short form names the option that it stands for.
      EXPECT_TRUE(error.starts_with(path + ':') || error.starts_with(path + '.')) << path << ": " << error;
      EXPECT_THAT(error, HasSubstr(": the checkpoint has 1, the configuration 2"));
    } else {
      EXPECT_EQ(error, "") << path;
      marked_.insert(cat(path, " ", static_cast<int>(option.decides)));
      EXPECT_EQ(found.empty(), option.decides == Decides::nothing) << path;
      for (const std::string& note : found) EXPECT_TRUE(note.starts_with(path + " was 1 ")) << note;
    }
  }

  template <class Base, class Around>
  void check_kinds(const Registry<Base>& registry, const std::string& above, const Around& around) {
    for (const KindInfo& kind : registry.describe()) {
      for (const OptionInfo& option : kind.options) {
        check(option, cat(above, kind.kind, '.', option.name), [&](Spec value) {
          return around(Spec::map().set(kind.kind, Spec::map().set(option.name, std::move(value))));
        });
      }
    }
  }

  Catalog catalog_ = Catalog::builtin();
  std::set<std::string> marked_;
};

TEST_F(EveryOption, IsComparedOrSaysThatItNeedNotBe) {
  const auto listed = [](const char* key) {
    return [key](Spec kind) { return Spec::map().set(key, Spec::list().append(std::move(kind))); };
  };
  const auto alone = [](const char* key) { return [key](Spec kind) { return Spec::map().set(key, std::move(kind)); }; };
  check_kinds(catalog_.ops, "input[0].", listed("input"));
  check_kinds(catalog_.layers.layers, "model[0].", listed("model"));
  check_kinds(catalog_.layers.losses, "loss.", alone("loss"));
  check_kinds(catalog_.layers.metrics, "metrics[0].",
              [&](Spec kind) { return Spec::map().set("metrics", Spec::list().append(std::move(kind))); });
  check_kinds(catalog_.layers.optimizers, "optimizer.", alone("optimizer"));
  check_kinds(schedules(), "optimizer.adam.schedule.", [](Spec kind) {
    return Spec::map().set("optimizer", Spec::map().set("adam", Spec::map().set("schedule", std::move(kind))));
  });
  // The only options that may differ: they decide nothing, or the length.
  std::set<std::string> expected;
  const auto add = [&](std::string_view path, Decides decides) {
    if (!catalog_.ops.entries().contains(path.substr(0, path.find('.')))) return;  // a build may be without
    expected.insert(cat("input[0].", path, " ", static_cast<int>(decides)));
  };
  for (const char* path : {"batch.capacity",
                           "batch.threads",
                           "cache.memory",
                           "csv_reader.chunk_bytes",
                           "csv_reader.index",
                           "decode_csv.bad_rows_file",
                           "decode_example.bad_rows_file",
                           "decode_image.bad_rows_file",
                           "hdf5_reader.chunk_bytes",
                           "idx_reader.chunk_bytes",
                           "lmdb_reader.chunk_bytes",
                           "npy_reader.chunk_bytes",
                           "npz_reader.chunk_bytes",
                           "parquet_reader.bad_rows_file",
                           "parquet_reader.chunk_bytes",
                           "queue.capacity",
                           "queue.threads",
                           "record_reader.chunk_bytes",
                           "shuffle_batch.capacity",
                           "shuffle_batch.threads",
                           "tfrecord_reader.chunk_bytes",
                           "tfrecord_reader.max_record_bytes"})
    add(path, Decides::nothing);
  for (const char* path : {"filename_queue.epochs", "idx_reader.epochs", "image_folder.epochs", "lmdb_reader.epochs",
                           "npy_reader.epochs", "repeat.epochs"})
    add(path, Decides::length);
  EXPECT_EQ(marked_, expected);
}

TEST_F(EveryOption, OfTheConfigurationToo) {
  std::vector<std::string> hidden;  // keys inside keys that decide nothing
  for_each(describe_config(), "", [&](const std::string& above, const OptionInfo& option) {
    const std::string path = above + option.name;
    if (std::ranges::any_of(hidden, [&](const std::string& key) { return path.starts_with(key); })) return;
    if (option.decides == Decides::nothing) hidden.push_back(path + '.');
    check(option, path, [&](Spec value) {
      // From the inner key to the outer one.
      std::string rest = path;
      for (size_t dot = rest.rfind('.'); dot != rest.npos; dot = rest.rfind('.')) {
        value = Spec::map().set(rest.substr(dot + 1), std::move(value));
        rest.resize(dot);
      }
      return Spec::map().set(rest, std::move(value));
    });
  });
  const auto mark = [](const char* path, Decides decides) { return cat(path, " ", static_cast<int>(decides)); };
  EXPECT_EQ(marked_,
            (std::set<std::string>{mark("checkpoint", Decides::nothing), mark("compare", Decides::nothing),
                                   mark("delivery", Decides::nothing), mark("device", Decides::last_bits),
                                   mark("log", Decides::nothing), mark("save", Decides::nothing),
                                   mark("threads", Decides::nothing), mark("train.log_every", Decides::nothing),
                                   mark("train.steps", Decides::length), mark("validation.patience", Decides::length),
                                   mark("workers", Decides::nothing)}));
}

// A kind of a plug-in says what its options decide, just like a built-in kind.
struct ForeignOptions {
  int64_t rounds = 1, workers = 1, rows = 1;
  std::string until = "one";
  void declare(OptionReader& o) {
    o.optional("rounds", rounds, "how often");
    o.decides("rounds", Decides::length);
    o.optional("until", until, "when it ends");
    o.decides("until", Decides::length);
    o.optional("workers", workers, "how many at once");
    o.only_speed("workers");
    o.optional("rows", rows, "how many");
  }
};

struct ForeignUpdates : UpdateOptions {
  ForeignUpdates() { learning_rate = 0.1; }
};

TEST_F(EveryOption, OfPlugInsToo) {
  catalog_.add_op("foreign", {.doc = "does something",
                              .describe = describe_options<ForeignOptions>,
                              .make = [](const Spec&, Spec*) { return std::unique_ptr<Op>(); }});
  catalog_.layers.optimizers.add("foreign", {.doc = "updates",
                                             .describe = describe_options<ForeignUpdates>,
                                             .make = [](const Spec&, Spec*) { return std::unique_ptr<Optimizer>(); }});
  for (const OptionInfo& option : describe_options<ForeignOptions>()) {
    check(option, "input[0].foreign." + option.name, [&](Spec value) {
      return Spec::map().set(
          "input", Spec::list().append(Spec::map().set("foreign", Spec::map().set(option.name, std::move(value)))));
    });
  }
  EXPECT_EQ(marked_.size(), 3u);

  const auto with_schedule = [](const char* rounds) {
    return parse_yaml(cat("input: [foreign: {", rounds, "}]\noptimizer: {foreign: {schedule: {linear: {steps: 7}}}}\n"),
                      "f.yaml");
  };
  Config config;
  config.resolved = config.written = with_schedule("until: two");
  EXPECT_THAT(compare_configs(with_schedule("until: one"), config, catalog_),
              ElementsAre("input[0].foreign.until was one in the checkpoint, and is two now; "
                          "optimizer.foreign.schedule.linear.steps is 7, so the schedule may end before the training"));
}

}  // namespace
}  // namespace millrace
