// What is said of wrong command lines, and that right ones are taken. What the options do is tested with each command.
#include "millrace/cli/commands/commands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "millrace/cli/arguments/parse.h"
#include "millrace/cli/process/exit_code.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

using Words = std::vector<std::string>;

// The command that is asked for, "help: check" if only its help is.
std::string asked(const Words& words) {
  const Command all = program();
  const auto [command, help] = parse(words, all);
  return (help ? "help: " : "") + command.line();
}

// The message, and the hint without where to find help, which `help` names.
std::string usage_error(const Words& words, const std::string& help) {
  const std::string what = error_of<UsageError>([&] { asked(words); });
  const std::string pointer = help + " shows the usage";
  if (what.ends_with("; " + pointer)) return what.substr(0, what.size() - pointer.size() - 2);
  EXPECT_TRUE(what.ends_with(" (" + pointer + ")")) << what;
  return what.substr(0, what.rfind(" ("));
}
std::string usage_error(const Words& words) {
  const Words commands = {"input", "check", "evaluate", "predict"};
  const bool subcommand = !words.empty() && std::find(commands.begin(), commands.end(), words[0]) != commands.end();
  return usage_error(words, subcommand ? "trainer " + words[0] + " --help" : "trainer --help");
}

TEST(CommandsTest, ExplainStandsAlone) {
  for (const Words& more : {Words{"--batches", "3"}, {"--format", "jsonl"}, {"--out", "x"}}) {
    Words words = {"input", "a.yaml", "--explain", "2"};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(usage_error(words), "--explain prints no batches; leave out --batches, --format and --out");
  }
}

TEST(CommandsTest, OptionsThatWouldChangeNothingAreRefused) {
  EXPECT_EQ(usage_error({"input", "a.yaml", "--format", "none", "--out", "x"}),
            "--format none writes no batches, so there is nothing for --out; leave out one of them");
  EXPECT_EQ(usage_error({"init", "d.csv", "--label", "y", "--out", "-", "--force"}, "trainer init --help"),
            "--force replaces a file, and --out - writes none");
  for (const Words& more : {Words{"train"}, {"--json"}, {"--markdown"}, {"--plugin", "p.so"}}) {
    Words words = {"config", "--example"};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(usage_error(words, "trainer config --help"),
              "--example prints one text, which nothing else changes; leave out KEY and the other options");
  }
  EXPECT_EQ(usage_error({"config", "--markdown", "--json"}, "trainer config --help"),
            "--markdown prints every key, as Markdown; leave out KEY and --json");
  EXPECT_EQ(asked({"config", "--markdown", "--plugin", "p.so"}), "trainer config");
  EXPECT_EQ(usage_error({"predict", "--model", "m", "--data", "a.csv", "--raw", "--threshold", "0.3"}),
            "--raw gives no classes, so there is nothing for --threshold to decide");
}

TEST(CommandsTest, Predict) {
  EXPECT_EQ(asked({"predict", "--model", "m", "--data", "a.csv", "--out", "p", "--format", "jsonl", "--raw"}),
            "trainer predict");
  // What a shell makes of a pattern without quotes.
  EXPECT_EQ(asked({"predict", "--model", "m", "--data", "a.csv", "b.csv", "c.csv", "--raw"}), "trainer predict");
  EXPECT_EQ(asked({"evaluate", "a.csv", "--model", "m"}), "trainer evaluate");
  EXPECT_EQ(asked({"evaluate", "--model", "m", "--held-out"}), "trainer evaluate") << "needs no data";
  EXPECT_EQ(usage_error({"predict", "--data", "a.csv"}), "no model is given; trainer predict --model FILE --data GLOB");
  EXPECT_EQ(usage_error({"predict", "--model", "m", "--data", "a.csv", "--format", "none"}),
            "--format: expected csv or jsonl, got \"none\"");
  EXPECT_EQ(usage_error({"predict", "--model", "m", "--data", "a.csv", "--bad-rows", "leave"}),
            "--bad-rows: expected blank, skip or fail, got \"leave\"");
  EXPECT_EQ(usage_error({"predict", "--model", "m", "--data", "a.csv", "--threshold", "30%"}),
            "--threshold: expected a number from 0 to 1, got \"30%\"");
  EXPECT_EQ(usage_error({"predict", "--model", "m", "--data", "a.csv", "--keep", "a,\"b"}),
            "--keep: expected names with commas between them, got \"a,\\\"b\"");
  EXPECT_EQ(usage_error({"evaluate", "--model", "m", "--data", "a.csv", "--set", "seed"}),
            "--set \"seed\": expected PATH=VALUE; for example --set train.steps=5");
  EXPECT_EQ(usage_error({"evaluate", "--model", "m", "--model", "n", "--data", "a.csv"}), "--model is given twice");
}

TEST(CommandsTest, GenerateSumWithinItsLimits) {
  const auto error = [](const std::string& option, const std::string& value) {
    return usage_error({"generate", "sum", "--out", "d", option, value}, "trainer generate sum --help");
  };
  EXPECT_EQ(error("--features", "16777217"),
            "--features: expected a whole number from 1 to 16777216, got \"16777217\"");
  EXPECT_EQ(error("--files", "1000001"), "--files: expected a whole number from 1 to 1000000, got \"1000001\"");
  EXPECT_EQ(error("--rows", "0"), "--rows: expected a whole number from 1 to 1099511627776, got \"0\"");
  EXPECT_EQ(error("--seed", "-1"), "--seed: expected a whole number from 0, got \"-1\"");
  EXPECT_EQ(asked({"generate", "sum", "--out", "d", "--features", "16777216"}), "trainer generate sum");
}

TEST(CommandsTest, GenerateImages) {
  EXPECT_EQ(asked({"generate", "images", "--out", "d", "--files", "2", "--size", "16", "--seed", "5", "--force"}),
            "trainer generate images");
  const auto error = [](const std::string& option, const std::string& value) {
    return usage_error({"generate", "images", "--out", "d", option, value}, "trainer generate images --help");
  };
  EXPECT_EQ(error("--size", "65"), "--size: expected a whole number from 12 to 64, got \"65\"");
  EXPECT_EQ(error("--rows", "4294967297"), "--rows: expected a whole number from 1 to 4294967296, got \"4294967297\"");
  EXPECT_EQ(error("--features", "3"), "unknown option --features");
}

TEST(CommandsTest, Checkpoints) {
  EXPECT_EQ(asked({"checkpoints", "runs", "--json"}), "trainer checkpoints");
  EXPECT_EQ(usage_error({"checkpoints"}, "trainer checkpoints --help"), "no folder is given; trainer checkpoints DIR");
  EXPECT_EQ(usage_error({"checkpoints", "a", "b"}, "trainer checkpoints --help"), "unexpected argument \"b\"");
}

TEST(CommandsTest, Completion) {
  EXPECT_EQ(asked({"completion", "fish"}), "trainer completion");
  EXPECT_EQ(usage_error({"completion"}, "trainer completion --help"),
            "completion needs to know for which shell; trainer completion bash");
  EXPECT_EQ(usage_error({"completion", "bahs"}, "trainer completion --help"),
            "SHELL: expected bash, zsh or fish, got \"bahs\"; did you mean bash?");
}

TEST(CommandsTest, ThreeWaysToTrain) {
  EXPECT_EQ(asked({"--config", "a.yaml"}), "trainer");
  EXPECT_EQ(asked({"--config=a.yaml"}), "trainer");
  EXPECT_EQ(asked({"a.yaml"}), "trainer");
  EXPECT_EQ(asked({"train", "--config", "a.yaml"}), "trainer train");
  EXPECT_EQ(asked({"train", "a.yaml"}), "trainer train");
  EXPECT_EQ(asked({"--version"}), "trainer");
  EXPECT_EQ(asked({"-V"}), "trainer");
}

TEST(CommandsTest, FileWithoutAnEndingIsNoSubcommand) {
  const TempFolder folder;
  EXPECT_EQ(asked({folder.write("mlp", "")}), "trainer");
}

TEST(CommandsTest, HelpMayBeAskedForAsASubcommand) {
  EXPECT_EQ(asked({"help"}), "help: trainer");
  EXPECT_EQ(asked({"--help"}), "help: trainer");
  EXPECT_EQ(asked({"help", "--help"}), "help: trainer");
  EXPECT_EQ(asked({"help", "generate", "sum"}), "help: trainer generate sum");
  EXPECT_EQ(asked({"generate", "sum", "-h"}), "help: trainer generate sum");
  EXPECT_EQ(asked({"check", "--bogus", "--set", "a", "--help"}), "help: trainer check") << "whatever else is wrong";
}

TEST(CommandsTest, HelpForWhatThereIsNot) {
  EXPECT_EQ(usage_error({"help", "chekc"}), "unknown subcommand \"chekc\"; did you mean check?");
  EXPECT_TRUE(usage_error({"help", "nope"}).starts_with("unknown subcommand \"nope\"; known: train, check, "));
  EXPECT_EQ(usage_error({"help", "generate", "sun"}), "unknown subcommand \"sun\"; did you mean sum?");
  EXPECT_EQ(usage_error({"help", "train", "extra"}), "unexpected argument \"extra\"");
}

TEST(CommandsTest, OptionsEndBehindTwoDashes) {
  EXPECT_EQ(asked({"--json", "--", "a.yaml"}), "trainer");
  EXPECT_EQ(asked({"check", "--", "-a.yaml"}), "trainer check");
  EXPECT_EQ(asked({"evaluate", "--model", "m", "--", "a.csv", "b.csv"}), "trainer evaluate");
  EXPECT_EQ(usage_error({"--"}), "no configuration is given; trainer --config FILE");
  EXPECT_EQ(usage_error({"a.yaml", "--", "--json"}), "unexpected argument \"--json\"");
  EXPECT_EQ(asked({"schema", "--"}), "trainer schema");
}

TEST(CommandsTest, UnknownOptionsNameTheNearest) {
  EXPECT_EQ(usage_error({"--conifg", "a.yaml"}), "unknown option --conifg; did you mean --config?");
  EXPECT_EQ(usage_error({"--conifg", "mlp"}), "unknown option --conifg; did you mean --config?");
  EXPECT_EQ(usage_error({"evalute", "--model", "m"}), "unknown subcommand \"evalute\"; did you mean evaluate?");
  EXPECT_EQ(usage_error({"--confg", "a.yaml"}), "unknown option --confg; did you mean --config?");
  EXPECT_EQ(usage_error({"check", "--config", "a.yaml", "--pirnt"}), "unknown option --pirnt; did you mean --print?");
  EXPECT_EQ(usage_error({"a.yaml", "--jsn=1"}), "unknown option --jsn; did you mean --json?");
  EXPECT_EQ(usage_error({"input", "a.yaml", "--wholly-different"}), "unknown option --wholly-different");
  EXPECT_EQ(usage_error({"evaluate", "--keep", "id"}), "unknown option --keep") << "--help is not meant";
}

TEST(CommandsTest, UnknownSubcommandsNameTheNearest) {
  EXPECT_EQ(usage_error({"chekc", "a.yaml"}), "unknown subcommand \"chekc\"; did you mean check?");
  EXPECT_EQ(usage_error({"chekc", "--config", "a.yaml"}), "unknown subcommand \"chekc\"; did you mean check?");
  EXPECT_EQ(usage_error({"frobnicate"}),
            "unknown subcommand \"frobnicate\"; known: train, check, init, input, convert, speed, compare, evaluate, "
            "predict, serve, export, checkpoints, verify-resume, worker, keys, generate, ops, layers, config, schema, "
            "doctor, man "
            "and completion");
  EXPECT_EQ(usage_error({"trian"}), "unknown subcommand \"trian\"; did you mean train?");
  EXPECT_EQ(usage_error({"generate", "sun"}, "trainer generate --help"),
            "unexpected argument \"sun\"; did you mean sum?");
}

TEST(CommandsTest, MissingValues) {
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
TEST(CommandsTest, EmptyValues) {
  const Command all = program();
  size_t options = 0;
  for (const Command* command : all_commands(all)) {
    for (const Argument& argument : command->arguments) {
      if (argument.value.empty()) continue;
      ++options;
      Words words;
      std::istringstream path{std::string(command->about.path)};
      for (std::string word; path >> word;) words.push_back(word);
      const std::string help = command->line() + " --help";
      if (argument.is_positional()) {
        words.emplace_back();
        EXPECT_EQ(usage_error(words, help), argument.name() + " needs a value");
        continue;
      }
      const std::string& name = argument.name();
      std::vector<Words> tails = {{name + "="}};
      if (!argument.value_is_optional) tails.push_back({name, ""});
      for (const Argument& flag : command->arguments) {
        if (flag.value.empty() && flag.name() != "--help") tails.push_back({name + "=", flag.name()});
      }
      for (const Words& tail : tails) {
        Words line = words;
        line.insert(line.end(), tail.begin(), tail.end());
        EXPECT_EQ(usage_error(line, help), name + " needs a value");
      }
    }
  }
  EXPECT_GT(options, 20u);
}

TEST(CommandsTest, FlagsTakeNoValue) {
  EXPECT_EQ(usage_error({"a.yaml", "--quiet=maybe"}), "--quiet takes no value, got \"maybe\"");
  EXPECT_EQ(usage_error({"a.yaml", "--quiet="}), "--quiet takes no value, got \"\"");
  EXPECT_EQ(usage_error({"check", "a.yaml", "--json=1"}), "--json takes no value, got \"1\"");
  EXPECT_EQ(usage_error({"schema", "--json=1"}, "trainer schema --help"), "unknown option --json");
}

TEST(CommandsTest, SetWithoutAnEqualsSign) {
  EXPECT_EQ(usage_error({"--config", "a.yaml", "--set", "train.steps", "5"}),
            "--set \"train.steps\": expected PATH=VALUE; for example --set train.steps=5");
  EXPECT_EQ(usage_error({"check", "a.yaml", "--set", "train.steps", "5"}),
            "--set \"train.steps\": expected PATH=VALUE; for example --set train.steps=5");
  EXPECT_EQ(usage_error({"a.yaml", "--set", "seed"}),
            "--set \"seed\": expected PATH=VALUE; for example --set train.steps=5");
  EXPECT_EQ(usage_error({"a.yaml", "--set", "=1"}),
            "--set \"=1\": expected PATH=VALUE; for example --set train.steps=5");
}

TEST(CommandsTest, NumbersAreWholeAndInRange) {
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

TEST(CommandsTest, GivenTwice) {
  EXPECT_EQ(usage_error({"--config", "a.yaml", "--config", "b.yaml"}), "--config is given twice");
  EXPECT_EQ(usage_error({"a.yaml", "--config", "b.yaml"}),
            "unexpected argument \"a.yaml\"; the configuration is given by --config already");
  EXPECT_EQ(usage_error({"check", "a.yaml", "b.yaml"}), "unexpected argument \"b.yaml\"");
}

TEST(CommandsTest, OptionsBeforeTheSubcommand) {
  EXPECT_EQ(
      usage_error({"--config", "a.yaml", "check"}, "trainer check --help"),
      "--config stands before check, where it means nothing; put it after the subcommand: trainer check --config ...");
}

TEST(CommandsTest, InitNeedsDataAndALabel) {
  EXPECT_EQ(asked({"init", "a.csv",  "b.csv", "--label", "y",          "--ignore", "x",  "--ignore",
                   "z",    "--keep", "k",     "--task",  "regression", "--header", "no", "--delimiter",
                   ";",    "--look", "3",     "--out",   "c.yaml",     "--force"}),
            "trainer init");
  EXPECT_EQ(usage_error({"init", "--label", "y"}, "trainer init --help"),
            "no data are given; trainer init DATA.csv --label COLUMN");
  EXPECT_EQ(usage_error({"init", "a.csv"}, "trainer init --help"),
            "init needs to know which column is to be predicted; trainer init DATA.csv --label COLUMN");
}

}  // namespace
}  // namespace millrace::cli
