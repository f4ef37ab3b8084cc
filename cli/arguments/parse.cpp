#include "millrace/cli/arguments/parse.h"

#include <unistd.h>

#include <map>
#include <optional>
#include <utility>

#include "millrace/cli/process/exit_code.h"
#include "millrace/core/registry.h"
#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

std::vector<std::string> names_below(const Command& command) {
  std::vector<std::string> out;
  for (const Command& below : command.commands) out.push_back(below.name());
  return out;
}

// The capability that the command `word` of the program belongs to, if this build leaves it out; else empty.
std::string left_out_with(const std::string& word, const Command& above) {
  const std::map<std::string, std::string> left_out = {MILLRACE_COMMANDS_LEFT_OUT};
  const auto found = above.about.path.empty() ? left_out.find(word) : left_out.end();
  return found != left_out.end() ? found->second : std::string();
}

UsageError unknown_subcommand(const std::string& word, const Command& above) {
  if (const std::string without = left_out_with(word, above); !without.empty()) {
    return UsageError(left_out_text(cat("subcommand ", quote(word)), without), {}, left_out_hint(without));
  }
  const std::vector<std::string> known = names_below(above);
  return UsageError(cat("unknown subcommand ", quote(word)), {}, suggestion(word, known, cat("known: ", join(known))));
}

// The command that the words after `trainer help` lead to.
const Command& find_command(std::span<const std::string> words, const Command& program) {
  const Command* command = &program;
  for (const std::string& word : words) {
    if (word == "--help" || word == "-h") continue;
    const Command* below = command->below(word);
    if (below == nullptr && command->commands.empty()) throw UsageError(cat("unexpected argument ", quote(word)));
    if (below == nullptr) throw unknown_subcommand(word, *command);
    command = below;
  }
  return *command;
}

class Parser {
 public:
  explicit Parser(const Command& program) : command_(&program) {
    for (const Command* command : all_commands(program)) {
      for (const Argument& argument : command->arguments) argument.given = false;
    }
  }

  // Returns whether help is wanted.
  bool parse(std::span<const std::string> words) {
    std::optional<UsageError> failure;  // the first one; it does not count if --help comes later
    for (const std::string& word : words) {
      try {
        take(word);
      } catch (const UsageError& error) {
        if (!failure) failure = error;
      }
    }
    if (help_) return true;
    if (failure) throw UsageError(*failure);
    if (!misplaced_.empty()) {
      throw UsageError(cat(misplaced_, " stands before ", behind_, ", where it means nothing"), {},
                       cat("put it after the subcommand: ", command_->line(), ' ', misplaced_, " ..."));
    }
    if (waiting_ != nullptr) throw UsageError(cat(waiting_->name(), " needs a value"));
    if (command_->check) command_->check(*command_);
    return false;
  }
  const Command& command() const { return *command_; }

 private:
  void take(const std::string& word) {
    if (const Argument* option = std::exchange(waiting_, nullptr)) {
      read(*option, word);
    } else if (options_ended_) {
      take_argument(word);
    } else if (word == "--") {
      options_ended_ = true;
    } else if (word.size() > 1 && word.front() == '-') {
      take_options(word);
    } else if (const Command* below = command_->below(word)) {
      enter(*below);
    } else {
      take_argument(word);
    }
  }

  // One option; or several short ones in one word: all of these are flags, except perhaps the last.
  void take_options(const std::string& word) {
    const auto short_option = [&](size_t i) { return std::string{'-', word[i]}; };
    size_t i = 1;
    if (word[1] != '-' && command_->option(word.substr(0, word.find('='))) == nullptr) {
      for (; i + 1 < word.size() && word[i + 1] != '=' && command_->option(short_option(i)) != nullptr; ++i) {
        take_option(short_option(i));
      }
    }
    take_option('-' + word.substr(i));
  }

  void take_option(const std::string& word) {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, equals);
    const Argument* option = command_->option(name);
    if (option == nullptr) {
      std::vector<std::string> known;
      for (const Argument& argument : command_->arguments) {
        // Not --help, which every usage error names anyway.
        if (!argument.is_positional() && argument.read) known.push_back(argument.name());
      }
      throw UsageError(cat("unknown option ", shortened(name)), {}, suggestion(name, known));
    }
    const bool has_value = equals < word.size();
    if (!option->read) {
      help_ = true;
    } else if (option->value.empty() || (option->value_is_optional && !has_value)) {
      if (has_value) throw UsageError(cat(name, " takes no value, got ", quote(word.substr(equals + 1))));
      if (std::exchange(option->given, true)) throw UsageError(cat(option->name(), " is given twice"));
      option->read({});
    } else if (has_value) {
      read(*option, word.substr(equals + 1));
    } else {
      waiting_ = option;
    }
  }

  void take_argument(const std::string& word) {
    if (!left_out_with(word, *command_).empty()) throw unknown_subcommand(word, *command_);
    for (const Argument& argument : command_->arguments) {
      if (!argument.is_positional() || (argument.given && !argument.repeats)) continue;
      const bool is_file = word.empty() || word.find_first_of("./") != word.npos || ::access(word.c_str(), F_OK) == 0;
      if (!command_->commands.empty() && !is_file) throw unknown_subcommand(word, *command_);
      return read(argument, word);
    }
    throw UsageError(cat("unexpected argument ", quote(word)), {}, suggestion(word, names_below(*command_)));
  }

  void enter(const Command& below) {
    const Command& above = *std::exchange(command_, &below);
    for (const Argument& argument : above.arguments) {
      if (!argument.given || !misplaced_.empty()) continue;
      misplaced_ = argument.name();
      behind_ = below.name();
    }
  }

  static void read(const Argument& argument, const std::string& text) {
    // An empty value is probably "$NAME" in a script in which NAME is not set.
    if (text.empty()) throw UsageError(cat(argument.name(), " needs a value"));
    if (std::exchange(argument.given, true) && !argument.repeats) {
      throw UsageError(cat(argument.name(), " is given twice"));
    }
    argument.read(text);
  }

  const Command* command_;
  const Argument* waiting_ = nullptr;  // the option whose value is the next word, whatever it looks like
  std::string misplaced_, behind_;     // an option that stands before a command, and that command
  bool options_ended_ = false;
  bool help_ = false;
};

}  // namespace

Parsed parse(std::span<const std::string> words, const Command& program) {
  Parser parser(program);
  try {
    if (!words.empty() && words.front() == "help") return {find_command(words.subspan(1), program), true};
    const bool help = parser.parse(words);
    return {parser.command(), help};
  } catch (const UsageError& error) {
    const std::string help = parser.command().line() + " --help shows the usage";
    const std::string& hint = error.hint();
    throw UsageError(error.message(), error.place(), hint.empty() ? help : cat(hint, " (", help, ')'));
  }
}

}  // namespace millrace::cli
