#include "millrace/cli/help/help.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "millrace/cli/arguments/parse.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/text/text_layout.h"
#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

std::string help_of(std::vector<std::string> words) {
  words.emplace_back("--help");
  const Command all = program();
  const auto [command, help] = parse(words, all);
  EXPECT_TRUE(help);
  return help_page(command);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.push_back(line);
  return out;
}

// The lines of the section EXAMPLES.
std::vector<std::string> examples_of(const std::string& help) {
  std::vector<std::string> out;
  bool inside = false;
  for (const std::string& line : lines_of(help)) {
    if (inside && !line.starts_with("  ")) break;
    if (inside) out.push_back(line.substr(2));
    inside = inside || line == "EXAMPLES:";
  }
  return out;
}

// The words of a command as a shell sees them, without redirections.
std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false, begun = false;
  for (const char c : command + ' ') {
    if (c == '"') {
      quoted = !quoted;
      begun = true;
    } else if (c != ' ' || quoted) {
      word += c;
      begun = true;
    } else if (begun) {
      words.push_back(word);
      word.clear();
      begun = false;
    }
  }
  const auto redirection =
      std::find_if(words.begin(), words.end(), [](const std::string& one) { return one == ">" || one == "|"; });
  words.erase(redirection, words.end());
  return words;
}

TEST(HelpTest, SubcommandHelpAsAWhole) {
  EXPECT_EQ(help_of({"ops"}),
            "Lists the input ops, with every option, type and default.\n"
            "\n"
            "USAGE:\n"
            "  trainer ops [OP] [--json]\n"
            "\n"
            "ARGUMENTS:\n"
            "  OP                        only this op, as a page with an example\n"
            "\n"
            "OPTIONS:\n"
            "      --plugin FILE         add the kinds of the plug-in FILE; may be repeated\n"
            "      --json                print it as one line of JSON\n"
            "  -h, --help                print this help\n"
            "\n"
            "An op is an item of the list `input` of a configuration: its name alone, or `name: {option: value}`.\n"
            "\n"
            "EXAMPLES:\n"
            "  trainer ops\n"
            "  trainer ops shuffle_batch\n"
            "  trainer ops --json\n"
            "\n"
            "SEE ALSO:\n"
            "  trainer layers, trainer config input, docs/input_graph.md\n");
}

TEST(HelpTest, ProgramHelpListsWhatThereIs) {
  const std::string help = help_of({});
  for (const char* part :
       {"SUBCOMMANDS:\n  train ", "\n  check  ", "\n  input  ", "\n  evaluate  ", "\n  predict  ", "\n  generate  ",
        "\n  ops  ", "\n  layers  ", "\n  config  ", "\n  schema  ", "\n  completion  ",
        "\nINPUT:\n      --config FILE", "\n      --set PATH=VALUE", "\nOUTPUT:\n      --save FILE", "\n  -q, --quiet",
        "\n  -V, --version", "\nEXIT CODES:\n  0 done, 2 usage, ", "EXAMPLES:\n"}) {
    EXPECT_NE(help.find(part), std::string::npos) << part << "\nis not in\n" << help;
  }
}

TEST(HelpTest, DefaultsAndOptionalValuesAreShown) {
  const std::string help = help_of({"generate", "sum"});
  EXPECT_NE(help.find("\n      --files N             how many files [default: 20]\n"), std::string::npos) << help;
  EXPECT_NE(help_of({"train"}).find("\n      --resume[=FILE]       go on from the newest checkpoint"),
            std::string::npos);
  EXPECT_NE(help_of({"input"}).find("how batches are written, see below [default: jsonl]"), std::string::npos);
}

// Whatever commands there are.
TEST(HelpTest, EveryHelpHasExamplesAndFitsATerminal) {
  const Command all = program();
  for (const Command* command : all_commands(all)) {
    const std::string help = help_page(*command);
    const size_t examples = examples_of(help).size();
    EXPECT_GE(examples, 1u) << help;
    EXPECT_LE(examples, 4u) << help;
    EXPECT_NE(help.find("\nSEE ALSO:\n"), std::string::npos) << help;
    EXPECT_EQ(help.back(), '\n');
    EXPECT_EQ(help.find("\n\n\n"), std::string::npos) << help;
    for (const std::string& line : lines_of(help)) EXPECT_LE(line.size(), kPageWidth) << line;
    for (const Argument& argument : command->arguments) EXPECT_FALSE(argument.doc.empty()) << command->line();
  }
}

TEST(HelpTest, EveryExampleIsACommandLine) {
  const Command all = program();
  for (const Command* command : all_commands(all)) {
    for (const std::string& example : examples_of(help_page(*command))) {
      const size_t begin = example.find("trainer ");
      ASSERT_NE(begin, std::string::npos) << example;
      std::string line = example.substr(begin);
      if (line.ends_with(')')) line.pop_back();
      std::vector<std::string> words = words_of(line);
      words.erase(words.begin());
      const Command fresh = program();
      EXPECT_FALSE(parse(words, fresh).help) << example;
      EXPECT_NE(example.find(command->line()), std::string::npos) << example << " is no example of its command";
    }
  }
}

// What the examples read besides what the first of them make.
void write_files_of_examples(const TempFolder& folder) {
  std::filesystem::create_directories(folder.path("test"));
  std::filesystem::create_directories(folder.path("new"));
  std::filesystem::create_directories(folder.path("runs/mlp"));
  const std::string first =
      "trainer generate sum --out data/one --files 1 --rows 20 --features 8 && for file in a.csv b.csv test.csv "
      "new.csv "
      "test/a.csv new/a.csv; do cp data/one/examples-00.csv $file; done";
  std::string iris = "length,species\n", houses = "id,area,price\n", rows;
  for (int i = 0; i < 60; ++i) {
    iris += cat(i % 2 * 5 + i % 3, ".5,", i % 2 == 0 ? "setosa" : "virginica", '\n');
    houses += cat(i, ',', 50 + i * 7 % 31, ',', 100000 + i * 7 % 31 * 2000, '\n');
    rows += cat(i % 2, ',', i * 7 % 13, ".5\n");
  }
  folder.write("iris.csv", iris);
  folder.write("rows.csv", rows);
  std::filesystem::create_directories(folder.path("houses"));
  folder.write("houses/a.csv", houses);
  const std::string model = " && trainer init iris.csv --label species && trainer iris.yaml --quiet && rm iris.yaml";
  const auto made = testing::run_command({"/bin/bash", "-c", first + model}, {.folder = folder.path()});
  ASSERT_EQ(made.exit_code, 0) << made.err;
}

TEST(HelpTest, EveryExampleRuns) {
  const TempFolder folder;
  const std::string bin = folder.path("bin");
  std::filesystem::create_directories(bin);
  std::filesystem::create_symlink(testing::trainer_program(), bin + "/trainer");
  const char* path = std::getenv("PATH");
  const std::string before = path == nullptr ? "/usr/bin:/bin" : path;
  ::setenv("PATH", (bin + ':' + before).c_str(), 1);
  write_files_of_examples(folder);
  const Command all = program();
  for (const Command* command : all_commands(all)) {
    if (command->name() == "worker" || command->name() == "serve") continue;  // until they are stopped
    for (const std::string& example : examples_of(help_page(*command))) {
      const auto result = testing::run_command({"/bin/bash", "-c", example}, {.folder = folder.path()});
      if (result.err.find(" need libzmq, ") != std::string::npos) continue;         // which is not there
      if (result.err.find("error: --check needs ") != std::string::npos) continue;  // onnxruntime, or python3
      EXPECT_EQ(result.exit_code, 0) << example << '\n' << result.err;
    }
  }
  ::setenv("PATH", before.c_str(), 1);
}

TEST(HelpTest, ShortHelpPointsToTheLongOne) {
  const std::string help = short_help(program());
  EXPECT_NE(help.find("\n  check                     Checks everything but the training"), std::string::npos) << help;
  EXPECT_TRUE(help.ends_with("trainer --help says more\n")) << help;
}

}  // namespace
}  // namespace millrace::cli
