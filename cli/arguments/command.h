// Command: the commands of the command line as data: each with its options, its help and the function that it runs. The
// parser, the help, the manual page and the completion of shells all use the same declarations.
//
//   struct SpeedArguments : ConfigArguments {
//     int64_t rounds = 3;  // the initial value is the default
//     void declare(Command& c) {
//       ConfigArguments::declare(c);
//       c.number("--rounds", rounds, {.least = 1}, "how often everything is measured");
//     }
//   };
//   Command command = make_command(kSpeedText, run_speed);  // int run_speed(const SpeedArguments&, Session&)
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/cli/process/output.h"
#include "millrace/cli/process/signals.h"

namespace millrace::cli {

// Every command gets this.
struct Session {
  Output& out;  // standard output
  SignalWatcher& signals;
};

// An option, a flag or a positional argument. The placeholder of its value says how a shell completes it: with one of
// the names that | joins; with a path for FILE, DIR and GLOB; with what names_for() lists for OP, KIND and KEY. Any
// other value is up to the user.
struct Argument {
  std::vector<std::string> names;  // "-q", "--quiet"; for a positional argument "FILE"
  std::string value;               // the placeholder; empty for a flag
  std::string default_value;       // empty when there is none
  std::string doc;
  std::string group;                                  // the heading in the help; empty: OPTIONS
  std::function<void(const std::string& text)> read;  // keeps the value; throws UsageError
  bool repeats = false;
  bool value_is_optional = false;  // then a value follows a `=`, and `read` gets an empty text without one
  mutable bool given = false;      // on the command line that was parsed

  const std::string& name() const { return names.back(); }
  bool is_positional() const { return !name().starts_with('-'); }
  // The text before and after the placeholder: " FILE", "[=FILE]"; both are empty for a flag.
  std::string before_value() const { return value.empty() ? "" : value_is_optional ? "[=" : " "; }
  std::string after_value() const { return value_is_optional ? "]" : ""; }
};

template <class T>  // int64_t or double
struct NumberRange {
  T least = 0;
  T most = std::numeric_limits<T>::max();
};

// The parts of a command's help besides its options.
struct CommandText {
  std::string_view path;      // "generate sum"; empty for the program itself
  std::string_view summary;   // one line
  std::string_view usage;     // lines, indented by two
  std::string_view details;   // what a user should know, then examples; lines have at most 100 columns
  std::string_view see_also;  // commands and pages, with commas between them
};

struct Command {
  explicit Command(const CommandText& description) : about(description) {}

  CommandText about;
  std::vector<Argument> arguments;
  std::vector<Command> commands;
  std::function<void(const Command&)> check;  // checks all values together, once they are read; throws UsageError
  std::function<int(Session&)> run;           // returns the exit code of a run that did not fail; throws Errors

  // For "generate sum": "sum", and "trainer generate sum".
  std::string name() const;
  std::string line() const;

  // Each declares an argument that is read into `value`, which must outlive the command. In the help, arguments that
  // are declared after heading() stand under that heading.
  void heading(std::string_view group) { group_ = group; }
  void flag(std::string_view names, bool& value, std::string_view doc);
  void text(std::string_view name, std::string& value, std::string_view placeholder, std::string_view doc);
  // An option with or without a value, `--name` or `--name=VALUE`: `value` is then empty or the value; absent: it is
  // not given.
  void optional_text(std::string_view name, std::optional<std::string>& value, std::string_view placeholder,
                     std::string_view doc);
  // An option that may be repeated.
  void texts(std::string_view name, std::vector<std::string>& values, std::string_view placeholder,
             std::string_view doc);
  template <class T>
  void number(std::string_view name, T& value, const NumberRange<int64_t>& range, std::string_view doc);
  // `choices` are names that | joins.
  void choice(std::string_view name, std::string& value, std::string_view choices, std::string_view doc);
  Argument& add(std::string_view names, std::string_view placeholder, std::string_view doc,
                std::function<void(const std::string&)> read);

  // The option with that name; the subcommand with that name. Null if there is none.
  const Argument* option(std::string_view name) const;
  const Command* below(std::string_view name) const;

 private:
  std::string group_;
};

// `command` and all commands below it, each before its own subcommands. The pointers point into `command`.
std::vector<const Command*> all_commands(const Command& command);
std::vector<const Command*> all_commands(Command&&) = delete;

// The names that a placeholder like "bash|zsh|fish" offers; empty for other placeholders.
std::vector<std::string> choices_of(std::string_view value);

// `text`, the value of the option `name`, as a number in `range`, or as one of `choices`. Both throw UsageError.
template <class T>
T number_in(const NumberRange<T>& range, std::string_view name, const std::string& text);
const std::string& one_of(std::string_view name, const std::string& text, const std::vector<std::string>& choices);

// "did you mean check?", or `otherwise` if no known word is near.
std::string suggestion(std::string_view word, const std::vector<std::string>& known, std::string otherwise = {});

// A command that reads an `Arguments` and calls `run` with it. `Arguments` has declare(Command&), and may have
// check(const Command&).
template <class Arguments>
Command make_command(const CommandText& about, int (*run)(const Arguments&, Session&)) {
  const auto arguments = std::make_shared<Arguments>();
  Command out(about);
  arguments->declare(out);
  out.heading({});
  out.add("-h,--help", {}, "print this help", {});
  if constexpr (requires { arguments->check(out); }) {
    out.check = [arguments](const Command& command) { arguments->check(command); };
  }
  out.run = [arguments, run](Session& session) { return run(*arguments, session); };
  return out;
}

template <class T>
void Command::number(std::string_view names, T& value, const NumberRange<int64_t>& range, std::string_view doc) {
  Argument& added = add(names, "N", doc, [&value, range, name = std::string(names)](const std::string& text) {
    value = number_in(range, name, text);
  });
  if constexpr (std::same_as<T, int64_t>) added.default_value = std::to_string(value);
}

}  // namespace millrace::cli
