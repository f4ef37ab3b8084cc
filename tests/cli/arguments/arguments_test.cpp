#include "millrace/cli/arguments/arguments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "millrace/cli/process/usage_error.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

Arguments parse(const std::vector<std::string>& words) { return parse_arguments(words); }

// The message, and the hint without where to find help, which `help` names.
std::string usage_error(const std::vector<std::string>& words, const std::string& help) {
  const std::string what = error_of<UsageError>([&] { parse(words); });
  const std::string pointer = help + " shows the usage";
  if (what.ends_with("; " + pointer)) return what.substr(0, what.size() - pointer.size() - 2);
  EXPECT_TRUE(what.ends_with(" (" + pointer + ")")) << what;
  return what.substr(0, what.rfind(" ("));
}
std::string usage_error(const std::vector<std::string>& words) {
  const std::vector<std::string> commands = {"input", "check", "evaluate", "predict"};
  const bool subcommand = !words.empty() && std::find(commands.begin(), commands.end(), words[0]) != commands.end();
  return usage_error(words, subcommand ? "trainer " + words[0] + " --help" : "trainer --help");
}

TEST(ArgumentsTest, NothingIsNothing) { EXPECT_EQ(parse({}).command, Command::nothing); }

TEST(ArgumentsTest, ThreeWaysToTrain) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--config", "a.yaml"},
                                                {"train", "--config", "a.yaml"},
                                                {"a.yaml"},
                                                {"train", "a.yaml"},
                                                {"--config=a.yaml"}}) {
    const Arguments arguments = parse(words);
    EXPECT_EQ(arguments.command, Command::train) << words[0];
    EXPECT_EQ(arguments.config, "a.yaml") << words[0];
    EXPECT_FALSE(arguments.json);
    EXPECT_FALSE(arguments.quiet);
    EXPECT_EQ(arguments.save, "");
  }
}

TEST(ArgumentsTest, TrainingOptions) {
  const Arguments arguments = parse({"--config", "a.yaml", "--set", "train.steps=5", "--quiet", "--set", "seed=-1",
                                     "--json", "--save", "m.safetensors"});
  EXPECT_EQ(arguments.overrides, (std::vector<std::string>{"train.steps=5", "seed=-1"}));
  EXPECT_TRUE(arguments.json);
  EXPECT_TRUE(arguments.quiet);
  EXPECT_EQ(arguments.save, "m.safetensors");
}

TEST(ArgumentsTest, SetTakesOneValueSoThatThePositionalFileMayFollow) {
  const Arguments arguments = parse({"check", "--set", "seed=1", "a.yaml", "--print"});
  EXPECT_EQ(arguments.overrides, std::vector<std::string>{"seed=1"});
  EXPECT_EQ(arguments.config, "a.yaml");
  EXPECT_TRUE(arguments.print);
}

TEST(ArgumentsTest, ValuesOfSetMayHoldAnything) {
  const Arguments arguments = parse({"a.yaml", "--set", "input[0].files=[a.csv, b c.csv]", "--set", "loss="});
  EXPECT_EQ(arguments.overrides, (std::vector<std::string>{"input[0].files=[a.csv, b c.csv]", "loss="}));
}

TEST(ArgumentsTest, InputOptions) {
  const Arguments arguments =
      parse({"input", "--config", "a.yaml", "--batches", "3", "--format", "csv", "--out", "rows.csv"});
  EXPECT_EQ(arguments.command, Command::input);
  EXPECT_EQ(arguments.batches, 3);
  EXPECT_EQ(arguments.format, BatchFormat::csv);
  EXPECT_EQ(arguments.out, "rows.csv");
  EXPECT_EQ(parse({"input", "a.yaml", "--explain", "20", "--json"}).explain, 20);
}

TEST(ArgumentsTest, ExplainStandsAlone) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--batches", "3"}, {"--format", "jsonl"}, {"--out", "x"}}) {
    std::vector<std::string> words = {"input", "a.yaml", "--explain", "2"};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(usage_error(words), "--explain prints no batches; leave out --batches, --format and --out");
  }
}

TEST(ArgumentsTest, InputDefaults) {
  const Arguments arguments = parse({"input", "a.yaml"});
  EXPECT_EQ(arguments.batches, std::nullopt);
  EXPECT_EQ(arguments.explain, std::nullopt);
  EXPECT_EQ(parse({"input", "a.yaml", "--out", "rows.csv"}).out, "rows.csv");
  EXPECT_EQ(parse({"input", "a.yaml", "--out", "-"}).out, "") << "standard output";
  EXPECT_EQ(parse({"predict", "--model", "m", "--data", "d", "--out", "-"}).out, "");
  EXPECT_EQ(arguments.format, BatchFormat::jsonl);
}

TEST(ArgumentsTest, Evaluate) {
  const Arguments arguments = parse({"evaluate", "--model", "m", "--data", "a*.csv", "--data", "b.csv", "--json", "-q",
                                     "--set", "device=cpu", "--set", "threads=1"});
  EXPECT_EQ(arguments.command, Command::evaluate);
  EXPECT_EQ(arguments.model, "m");
  EXPECT_EQ(arguments.data, (std::vector<std::string>{"a*.csv", "b.csv"}));
  EXPECT_EQ(arguments.overrides, (std::vector<std::string>{"device=cpu", "threads=1"}));
  EXPECT_TRUE(arguments.json);
  EXPECT_TRUE(arguments.quiet);
}

TEST(ArgumentsTest, Predict) {
  const Arguments arguments =
      parse({"predict", "--model", "m", "--data", "a.csv", "--out", "p", "--format", "jsonl", "--raw"});
  EXPECT_EQ(arguments.command, Command::predict);
  EXPECT_EQ(arguments.out, "p");
  EXPECT_EQ(arguments.prediction_format, PredictionFormat::jsonl);
  EXPECT_TRUE(arguments.raw);
  EXPECT_EQ(parse({"predict", "--model", "m", "--data", "a.csv"}).prediction_format, PredictionFormat::csv);
  // What a shell makes of a pattern without quotes.
  EXPECT_EQ(parse({"predict", "--model", "m", "--data", "a.csv", "b.csv", "c.csv", "--raw"}).data,
            (std::vector<std::string>{"a.csv", "b.csv", "c.csv"}));
  EXPECT_EQ(parse({"evaluate", "a.csv", "--model", "m"}).data, std::vector<std::string>{"a.csv"});
  EXPECT_EQ(usage_error({"predict", "--data", "a.csv"}), "no model is given; trainer predict --model FILE --data GLOB");
  EXPECT_EQ(usage_error({"predict", "--model", "m", "--data", "a.csv", "--format", "none"}),
            "--format: expected csv or jsonl, got \"none\"");
  EXPECT_EQ(usage_error({"evaluate", "--model", "m", "--data", "a.csv", "--set", "seed"}),
            "--set \"seed\": expected PATH=VALUE; for example --set train.steps=5");
  EXPECT_EQ(usage_error({"evaluate", "--model", "m", "--model", "n", "--data", "a.csv"}), "--model is given twice");
}

TEST(ArgumentsTest, GenerateSum) {
  const Arguments arguments = parse(
      {"generate", "sum", "--out", "d", "--files", "2", "--rows", "3", "--features", "4", "--seed", "5", "--force"});
  EXPECT_EQ(arguments.command, Command::generate_sum);
  EXPECT_EQ(arguments.out, "d");
  EXPECT_EQ(arguments.files, 2);
  EXPECT_EQ(arguments.rows, 3);
  EXPECT_EQ(arguments.features, 4);
  EXPECT_EQ(arguments.seed, 5);
  EXPECT_TRUE(arguments.force);
}

TEST(ArgumentsTest, GenerateSumDefaults) {
  const Arguments arguments = parse({"generate", "sum", "--out", "d"});
  EXPECT_EQ(arguments.files, 20);
  EXPECT_EQ(arguments.rows, 100);
  EXPECT_EQ(arguments.features, 1024);
  EXPECT_EQ(arguments.seed, 1);
  EXPECT_FALSE(arguments.force);
}

TEST(ArgumentsTest, GenerateSumWithinItsLimits) {
  const auto error = [](const std::string& option, const std::string& value) {
    return usage_error({"generate", "sum", "--out", "d", option, value}, "trainer generate sum --help");
  };
  EXPECT_EQ(error("--features", "16777217"),
            "--features: expected a whole number from 1 to 16777216, got \"16777217\"");
  EXPECT_EQ(error("--files", "1000001"), "--files: expected a whole number from 1 to 1000000, got \"1000001\"");
  EXPECT_EQ(error("--rows", "0"), "--rows: expected a whole number from 1 to 1099511627776, got \"0\"");
  EXPECT_EQ(error("--seed", "-1"), "--seed: expected a whole number from 0, got \"-1\"");
  EXPECT_EQ(parse({"generate", "sum", "--out", "d", "--features", "16777216"}).features, 16777216);
}

TEST(ArgumentsTest, GenerateImages) {
  const Arguments arguments = parse(
      {"generate", "images", "--out", "d", "--files", "2", "--rows", "3", "--size", "16", "--seed", "5", "--force"});
  EXPECT_EQ(arguments.command, Command::generate_images);
  EXPECT_EQ(arguments.out, "d");
  EXPECT_EQ(arguments.files, 2);
  EXPECT_EQ(arguments.rows, 3);
  EXPECT_EQ(arguments.size, 16);
  EXPECT_EQ(arguments.seed, 5);
  EXPECT_TRUE(arguments.force);
  EXPECT_EQ(parse({"generate", "images", "--out", "d"}).size, 28);
  const auto error = [](const std::string& option, const std::string& value) {
    return usage_error({"generate", "images", "--out", "d", option, value}, "trainer generate images --help");
  };
  EXPECT_EQ(error("--size", "65"), "--size: expected a whole number from 12 to 64, got \"65\"");
  EXPECT_EQ(error("--rows", "4294967297"), "--rows: expected a whole number from 1 to 4294967296, got \"4294967297\"");
  EXPECT_EQ(error("--features", "3"), "unknown option --features");
}

TEST(ArgumentsTest, References) {
  EXPECT_EQ(parse({"ops"}).command, Command::ops);
  EXPECT_EQ(parse({"ops"}).name, "");
  EXPECT_EQ(parse({"layers", "dense"}).command, Command::layers);
  EXPECT_EQ(parse({"layers", "dense"}).name, "dense");
}

TEST(ArgumentsTest, Pages) {
  EXPECT_EQ(parse({"config"}).command, Command::config);
  EXPECT_EQ(parse({"config", "train.steps", "--json"}).name, "train.steps");
  EXPECT_TRUE(parse({"config", "--markdown"}).markdown);
  EXPECT_EQ(parse({"schema"}).command, Command::schema);
  EXPECT_TRUE(parse({"ops", "--json"}).json);
}

TEST(ArgumentsTest, Completion) {
  EXPECT_EQ(parse({"completion", "fish"}).command, Command::completion);
  EXPECT_EQ(parse({"completion", "fish"}).shell, Shell::fish);
  EXPECT_EQ(usage_error({"completion"}, "trainer completion --help"),
            "completion needs to know for which shell; trainer completion bash");
  EXPECT_EQ(usage_error({"completion", "bahs"}, "trainer completion --help"),
            "SHELL: expected bash, zsh or fish, got \"bahs\"; did you mean bash?");
}

TEST(ArgumentsTest, HelpMayBeAskedForAsASubcommand) {
  EXPECT_EQ(parse({"help"}).text, parse({"--help"}).text);
  EXPECT_EQ(parse({"help", "generate", "sum"}).text, parse({"generate", "sum", "--help"}).text);
}

TEST(ArgumentsTest, HelpForWhatThereIsNot) {
  EXPECT_EQ(usage_error({"help", "chekc"}), "unknown subcommand \"chekc\"; did you mean check?");
  EXPECT_TRUE(usage_error({"help", "nope"}).starts_with("unknown subcommand \"nope\"; known: train, check, "));
  EXPECT_EQ(usage_error({"help", "generate", "sun"}), "unknown subcommand \"sun\"; did you mean sum?");
  EXPECT_EQ(usage_error({"help", "train", "extra"}), "unexpected argument \"extra\"");
  EXPECT_EQ(parse({"help", "--help"}).text, parse({"--help"}).text);
}

TEST(ArgumentsTest, OptionsEndBehindTwoDashes) {
  EXPECT_EQ(parse({"--json", "--", "a.yaml"}).config, "a.yaml");
  EXPECT_EQ(parse({"check", "--", "-a.yaml"}).config, "-a.yaml");
  EXPECT_EQ(parse({"evaluate", "--model", "m", "--", "a.csv", "b.csv"}).data,
            (std::vector<std::string>{"a.csv", "b.csv"}));
  EXPECT_EQ(parse({"a.yaml", "--save", "--"}).save, "--");
  EXPECT_EQ(usage_error({"--"}), "no configuration is given; trainer --config FILE");
  EXPECT_EQ(usage_error({"a.yaml", "--", "--json"}), "unexpected argument \"--json\"");
  EXPECT_EQ(parse({"schema", "--"}).command, Command::schema);
}

TEST(ArgumentsTest, WhatThereIsCanBeAskedFor) {
  const CommandInfo program = describe_commands();
  EXPECT_EQ(program.path, "");
  const auto find = [](const CommandInfo& command, const std::string& name) {
    for (const ArgumentInfo& argument : command.arguments) {
      const auto& names = argument.names;
      if (std::find(names.begin(), names.end(), name) != names.end()) return argument;
      if (names.empty() && argument.value == name) return argument;
    }
    ADD_FAILURE() << "there is no " << name;
    return ArgumentInfo();
  };
  const ArgumentInfo quiet = find(program, "-q");
  EXPECT_EQ(quiet.names, (std::vector<std::string>{"-q", "--quiet"}));
  EXPECT_EQ(quiet.value, "");
  EXPECT_EQ(quiet.group, "OUTPUT");
  EXPECT_EQ(find(program, "FILE").names.size(), 0u);
  EXPECT_EQ(find(program, "--help").group, "");
  for (const CommandInfo* command : all_commands(program)) {
    if (command->path == "generate sum") {
      EXPECT_EQ(find(*command, "--files").default_value, "20");
    } else if (command->path == "input") {
      EXPECT_EQ(find(*command, "--format").value, "jsonl|csv|none");
      EXPECT_EQ(find(*command, "--format").default_value, "jsonl");
      EXPECT_EQ(find(*command, "--batches").default_value, "");
    } else if (command->path == "completion") {
      EXPECT_EQ(find(*command, "bash|zsh|fish").names.size(), 0u);
    }
  }
}

TEST(ArgumentsTest, Version) {
  EXPECT_EQ(parse({"--version"}).command, Command::version);
  EXPECT_EQ(parse({"-V"}).command, Command::version);
}

TEST(ArgumentsTest, HelpIsThatOfTheSubcommand) {
  const Arguments help = parse({"input", "--help"});
  EXPECT_EQ(help.command, Command::help);
  EXPECT_TRUE(help.text.starts_with("Runs the input graph alone")) << help.text;
  EXPECT_TRUE(parse({"-h"}).text.starts_with("Trains a model")) << parse({"-h"}).text;
  EXPECT_TRUE(parse({"generate", "sum", "-h"}).text.starts_with("CSV files of normal numbers"));
}

TEST(ArgumentsTest, UnknownOptionsNameTheNearest) {
  EXPECT_EQ(usage_error({"--conifg", "a.yaml"}), "unknown option --conifg; did you mean --config?");
  EXPECT_EQ(usage_error({"--conifg", "mlp"}), "unknown option --conifg; did you mean --config?");
  EXPECT_EQ(usage_error({"evalute", "--model", "m"}), "unknown subcommand \"evalute\"; did you mean evaluate?");
  EXPECT_EQ(usage_error({"--confg", "a.yaml"}), "unknown option --confg; did you mean --config?");
  EXPECT_EQ(usage_error({"check", "--config", "a.yaml", "--pirnt"}), "unknown option --pirnt; did you mean --print?");
  EXPECT_EQ(usage_error({"a.yaml", "--jsn=1"}), "unknown option --jsn; did you mean --json?");
  EXPECT_EQ(usage_error({"input", "a.yaml", "--wholly-different"}), "unknown option --wholly-different");
}

TEST(ArgumentsTest, UnknownSubcommandsNameTheNearest) {
  EXPECT_EQ(usage_error({"chekc", "a.yaml"}), "unknown subcommand \"chekc\"; did you mean check?");
  EXPECT_EQ(usage_error({"chekc", "--config", "a.yaml"}), "unknown subcommand \"chekc\"; did you mean check?");
  EXPECT_EQ(usage_error({"frobnicate"}),
            "unknown subcommand \"frobnicate\"; known: train, check, init, input, speed, compare, evaluate, predict, "
            "generate, ops, layers, config, schema, doctor, man and completion");
  EXPECT_EQ(usage_error({"trian"}), "unknown subcommand \"trian\"; did you mean train?");
  EXPECT_EQ(usage_error({"generate", "sun"}, "trainer generate --help"),
            "unexpected argument \"sun\"; did you mean sum?");
}

TEST(ArgumentsTest, FileWithoutAnEndingIsNoSubcommand) {
  const TempFolder folder;
  const std::string path = folder.write("mlp", "");
  EXPECT_EQ(parse({path}).config, path);
}

TEST(ArgumentsTest, MissingValues) {
  EXPECT_EQ(usage_error({"--config"}), "--config needs a value");
  EXPECT_EQ(usage_error({"a.yaml", "--set"}), "--set needs a value");
  EXPECT_EQ(usage_error({"check"}), "no configuration is given; trainer check --config FILE");
  EXPECT_EQ(usage_error({"--quiet"}), "no configuration is given; trainer --config FILE");
  EXPECT_EQ(usage_error({"generate"}, "trainer generate --help"),
            "generate needs to know what; trainer generate sum --out DIR or trainer generate images --out DIR");
  EXPECT_EQ(usage_error({"generate", "sum"}, "trainer generate sum --help"),
            "generate sum needs --out DIR; trainer generate sum --out data/sum");
  EXPECT_EQ(usage_error({"generate", "images"}, "trainer generate images --help"),
            "generate images needs --out DIR; trainer generate images --out data/images");
}

// As "$UNSET" makes them.
TEST(ArgumentsTest, EmptyValues) {
  const CommandInfo program = describe_commands();
  size_t options = 0;
  for (const CommandInfo* command : all_commands(program)) {
    for (const ArgumentInfo& argument : command->arguments) {
      if (argument.value.empty()) continue;
      ++options;
      std::vector<std::string> words;
      std::istringstream path(command->path);
      for (std::string word; path >> word;) words.push_back(word);
      const std::string help = command_line(*command) + " --help";
      if (argument.names.empty()) {
        words.emplace_back();
        EXPECT_TRUE(usage_error(words, help).ends_with(" needs a value")) << help;
        continue;
      }
      const std::string& name = argument.names.back();
      std::vector<std::vector<std::string>> tails = {{name, ""}, {name + "="}};
      for (const ArgumentInfo& flag : command->arguments) {
        if (flag.value.empty() && flag.names.back() != "--help") tails.push_back({name + "=", flag.names.back()});
      }
      for (const std::vector<std::string>& tail : tails) {
        std::vector<std::string> all = words;
        all.insert(all.end(), tail.begin(), tail.end());
        EXPECT_EQ(usage_error(all, help), name + " needs a value");
      }
    }
  }
  EXPECT_GT(options, 20u);
}

TEST(ArgumentsTest, ValuesBehindAnEqualsSign) {
  const Arguments arguments = parse({"a.yaml", "--save=m", "--set=seed=1", "--set", "--save=", "--json"});
  EXPECT_EQ(arguments.save, "m");
  EXPECT_EQ(arguments.overrides, (std::vector<std::string>{"seed=1", "--save="})) << "the value of --set";
  EXPECT_TRUE(arguments.json);
  EXPECT_EQ(parse({"predict", "--model=m", "--data=-", "--raw"}).data, std::vector<std::string>{"-"});
}

TEST(ArgumentsTest, FlagsTakeNoValue) {
  EXPECT_EQ(usage_error({"a.yaml", "--quiet=maybe"}), "--quiet takes no value, got \"maybe\"");
  EXPECT_EQ(usage_error({"a.yaml", "--quiet="}), "--quiet takes no value, got \"\"");
  EXPECT_EQ(usage_error({"check", "a.yaml", "--json=1"}), "--json takes no value, got \"1\"");
  EXPECT_EQ(usage_error({"schema", "--json=1"}, "trainer schema --help"), "unknown option --json");
}

TEST(ArgumentsTest, SetWithoutAnEqualsSign) {
  EXPECT_EQ(usage_error({"--config", "a.yaml", "--set", "train.steps", "5"}),
            "--set \"train.steps\": expected PATH=VALUE; for example --set train.steps=5");
  EXPECT_EQ(usage_error({"check", "a.yaml", "--set", "train.steps", "5"}),
            "--set \"train.steps\": expected PATH=VALUE; for example --set train.steps=5");
  EXPECT_EQ(usage_error({"a.yaml", "--set", "seed"}),
            "--set \"seed\": expected PATH=VALUE; for example --set train.steps=5");
  EXPECT_EQ(usage_error({"a.yaml", "--set", "=1"}),
            "--set \"=1\": expected PATH=VALUE; for example --set train.steps=5");
}

TEST(ArgumentsTest, NumbersAreWholeAndInRange) {
  EXPECT_EQ(usage_error({"input", "a.yaml", "--batches", "x"}), "--batches: expected a whole number from 0, got \"x\"");
  EXPECT_EQ(usage_error({"input", "a.yaml", "--batches", "-1"}),
            "--batches: expected a whole number from 0, got \"-1\"");
  EXPECT_EQ(usage_error({"input", "a.yaml", "--explain", "0"}), "--explain: expected a whole number from 1, got \"0\"");
  EXPECT_EQ(usage_error({"input", "a.yaml", "--batches", "99999999999999999999"}),
            "--batches: expected a whole number from 0, got \"99999999999999999999\"");
  EXPECT_EQ(usage_error({"input", "a.yaml", "--format", "xml"}), "--format: expected jsonl, csv or none, got \"xml\"");
  EXPECT_EQ(usage_error({"input", "a.yaml", "--format", "josnl"}),
            "--format: expected jsonl, csv or none, got \"josnl\"; did you mean jsonl?");
}

TEST(ArgumentsTest, GivenTwice) {
  EXPECT_EQ(usage_error({"--config", "a.yaml", "--config", "b.yaml"}), "--config is given twice");
  EXPECT_EQ(usage_error({"a.yaml", "--config", "b.yaml"}),
            "unexpected argument \"a.yaml\"; the configuration is given by --config already");
  EXPECT_EQ(usage_error({"check", "a.yaml", "b.yaml"}), "unexpected argument \"b.yaml\"");
}

TEST(ArgumentsTest, OptionsBeforeTheSubcommand) {
  EXPECT_EQ(usage_error({"--config", "a.yaml", "check"}, "trainer check --help"),
            "--config stands before check, where it means nothing; put it behind: trainer check --config ...");
}

TEST(ArgumentsTest, InitNeedsDataAndALabel) {
  const Arguments arguments =
      parse({"init", "a.csv",  "b.csv", "--label", "y",          "--ignore", "x",  "--ignore",
             "z",    "--keep", "k",     "--task",  "regression", "--header", "no", "--delimiter",
             ";",    "--look", "3",     "--out",   "c.yaml",     "--force"});
  EXPECT_EQ(arguments.command, Command::init);
  EXPECT_EQ(arguments.data, (std::vector<std::string>{"a.csv", "b.csv"}));
  EXPECT_EQ(arguments.label, "y");
  EXPECT_EQ(arguments.ignore, (std::vector<std::string>{"x", "z"}));
  EXPECT_EQ(arguments.keep, std::vector<std::string>{"k"});
  EXPECT_EQ(arguments.task, InitTask::regression);
  EXPECT_EQ(arguments.header, HeaderChoice::no);
  EXPECT_EQ(arguments.delimiter, ";");
  EXPECT_EQ(arguments.look, 3);
  EXPECT_EQ(arguments.out, "c.yaml");
  EXPECT_TRUE(arguments.force);
  EXPECT_EQ(usage_error({"init", "--label", "y"}, "trainer init --help"),
            "no data are given; trainer init DATA.csv --label COLUMN");
  EXPECT_EQ(usage_error({"init", "a.csv"}, "trainer init --help"),
            "init needs to know which column is to be predicted; trainer init DATA.csv --label COLUMN");
}

TEST(ArgumentsTest, AnEvaluationOfRowsHeldOutNeedsNoData) {
  EXPECT_TRUE(parse({"evaluate", "--model", "m", "--held-out"}).held_out);
  EXPECT_EQ(parse({"doctor", "--json"}).command, Command::doctor);
  EXPECT_EQ(parse({"man"}).command, Command::man);
}

}  // namespace
}  // namespace millrace::cli
