#include "millrace/cli/arguments/command.h"

#include "millrace/cli/process/exit_code.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

constexpr CommandText kText = {"generate sum", "Adds.", "  trainer generate sum", "", ""};

struct SumArguments {
  int64_t rows = 3;
  std::string colour = "green", other;
  bool checked = false;

  void declare(Command& c) {
    c.heading("INPUT");
    c.number("--rows", rows, {}, "how many");
    c.choice("--colour", colour, "red|green", "of what");
    c.choice("OTHER", other, "red|green", "of the rest");
  }
  void check(const Command&) { checked = true; }
};

int run_sum(const SumArguments& arguments, Session&) {
  return static_cast<int>(arguments.rows) + (arguments.checked ? 10 : 0);
}

TEST(CommandTest, ArgumentsAreDeclaredWithTheirDefaults) {
  const Command command = make_command(kText, run_sum);
  EXPECT_EQ(command.name(), "sum");
  EXPECT_EQ(command.line(), "trainer generate sum");
  ASSERT_EQ(command.arguments.size(), 4u);
  const Argument& rows = command.arguments[0];
  EXPECT_EQ(rows.value, "N");
  EXPECT_EQ(rows.default_value, "3");
  EXPECT_EQ(rows.group, "INPUT");
  const Argument* colour = command.option("--colour");
  ASSERT_NE(colour, nullptr);
  EXPECT_EQ(colour->value, "red|green");
  EXPECT_EQ(colour->default_value, "green");
  EXPECT_TRUE(command.arguments[2].is_positional());
  EXPECT_EQ(command.arguments[2].default_value, "");
  EXPECT_EQ(command.arguments[3].names, (std::vector<std::string>{"-h", "--help"}));
  EXPECT_EQ(command.arguments[3].group, "");
  EXPECT_EQ(command.option("OTHER"), nullptr) << "no option";
}

TEST(CommandTest, AnOptionalValueIsShownAsSuch) {
  std::optional<std::string> with;
  std::string always;
  bool flag = false;
  Command command(kText);
  command.optional_text("--with", with, "FILE", "perhaps");
  command.text("--always", always, "FILE", "a file");
  command.flag("--flag", flag, "no file");
  const auto shown = [&](const char* name) {
    const Argument& argument = *command.option(name);
    return name + argument.before_value() + argument.value + argument.after_value();
  };
  EXPECT_EQ(shown("--with"), "--with[=FILE]");
  EXPECT_EQ(shown("--always"), "--always FILE");
  EXPECT_EQ(shown("--flag"), "--flag");
  command.option("--with")->read("a");
  EXPECT_EQ(with, "a");
}

TEST(CommandTest, RunsWithWhatWasRead) {
  const Command command = make_command(kText, run_sum);
  Output out = Output::standard();
  SignalWatcher signals;
  Session session{out, signals};
  EXPECT_EQ(command.run(session), 3);
  command.option("--rows")->read("5");
  command.check(command);
  EXPECT_EQ(command.run(session), 15);
  EXPECT_EQ(error_of<UsageError>([&] { command.option("--colour")->read("gren"); }),
            "--colour: expected red or green, got \"gren\"; did you mean green?");
}

TEST(CommandTest, ChoicesStandBetweenBars) {
  EXPECT_EQ(choices_of("a|b|c"), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(choices_of("FILE").empty());
  EXPECT_TRUE(choices_of("").empty());
}

TEST(CommandTest, AllCommandsOuterOnesFirst) {
  const auto command = [](std::string_view path) {
    return Command({.path = path, .summary = {}, .usage = {}, .details = {}, .see_also = {}});
  };
  Command all = command(""), a = command("a");
  a.commands.push_back(command("a b"));
  all.commands = {a, command("c")};
  std::string lines;
  for (const Command* one : all_commands(all)) lines += one->line() + ';';
  EXPECT_EQ(lines, "trainer;trainer a;trainer a b;trainer c;");
}

TEST(CommandTest, NumbersAreInTheirRange) {
  EXPECT_EQ(number_in<int64_t>({.least = 7, .most = 7}, "--n", "7"), 7);
  EXPECT_EQ(number_in<int64_t>({}, "--n", "9223372036854775807"), std::numeric_limits<int64_t>::max());
  for (const char* text : {"6", "8", "x", "7x", "7.0", " 7", "99999999999999999999", ""}) {
    EXPECT_EQ(error_of<UsageError>([&] { (void)number_in<int64_t>({.least = 7, .most = 7}, "--n", text); }),
              std::string("--n: expected a whole number from 7 to 7, got \"") + text + '"');
  }
  EXPECT_EQ(error_of<UsageError>([] { (void)number_in<int64_t>({}, "--n", "-1"); }),
            "--n: expected a whole number from 0, got \"-1\"");
  EXPECT_EQ(number_in<double>({.most = 1}, "--p", "0.5"), 0.5);
  for (const char* text : {"-0.1", "1.1", "nan", "0.5x", "1e999", ""}) {
    EXPECT_EQ(error_of<UsageError>([&] { (void)number_in<double>({.most = 1}, "--p", text); }),
              std::string("--p: expected a number from 0 to 1, got \"") + text + '"');
  }
}

}  // namespace
}  // namespace millrace::cli
