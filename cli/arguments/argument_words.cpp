#include "millrace/cli/arguments/argument_words.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

const ArgumentInfo* option_of(const CommandInfo& command, const std::string& name) {
  for (const ArgumentInfo& argument : command.arguments) {
    if (std::find(argument.names.begin(), argument.names.end(), name) != argument.names.end()) return &argument;
  }
  return nullptr;
}

// The option of that name of `selected`, else of any command; null when there is none.
const ArgumentInfo* find_option(const CommandInfo& program, const CommandInfo& selected, const std::string& name) {
  if (const ArgumentInfo* option = option_of(selected, name)) return option;
  for (const CommandInfo* command : all_commands(program)) {
    if (const ArgumentInfo* option = option_of(*command, name)) return option;
  }
  return nullptr;
}

const CommandInfo& command_below(const CommandInfo& command, const std::string& word) {
  for (const CommandInfo& below : command.commands) {
    if (last_word(below.path) == word) return below;
  }
  return command;
}

}  // namespace

SplitWords split_values(std::span<const std::string> words, const CommandInfo& program) {
  SplitWords out;
  const CommandInfo* selected = &program;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      out.words.insert(out.words.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    const size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, equals);
    const ArgumentInfo* option = name.starts_with("--") ? find_option(program, *selected, name) : nullptr;
    out.words.push_back(option == nullptr ? word : name);
    if (option == nullptr) {
      selected = &command_below(*selected, word);
      continue;
    }
    const bool has_value = equals < word.size();
    if (option->value.empty()) {
      if (has_value && out.misuse.empty()) {
        out.misuse = cat(name, " takes no value, got ", quote(word.substr(equals + 1)));
      }
    } else if (has_value) {
      out.words.push_back(word.substr(equals + 1));
    } else if (i + 1 < words.size()) {
      out.words.push_back(words[++i]);  // whatever it looks like
    }
  }
  return out;
}

int64_t whole_number(const std::string& name, const std::string& text, const WholeRange& range) {
  int64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = end.ec == std::errc() && end.ptr == text.data() + text.size();
  if (whole && value >= range.least && value <= range.most) return value;
  const std::string upper = range.most < WholeRange{}.most ? cat(" to ", range.most) : std::string();
  throw UsageError(cat(name, ": expected a whole number from ", range.least, upper, ", got ", quote(text)));
}

void check_settings(std::span<const std::string> settings) {
  for (const std::string& setting : settings) {
    if (setting.find('=') == std::string::npos || setting.front() == '=') {
      throw UsageError(cat("--set ", quote(setting), ": expected PATH=VALUE"), {}, "for example --set train.steps=5");
    }
  }
}

const CommandInfo& find_command(std::span<const std::string> words, const CommandInfo& program) {
  const CommandInfo* command = &program;
  for (const std::string& word : words) {
    if (word == "--help" || word == "-h") continue;
    if (command->commands.empty()) throw UsageError(cat("unexpected argument ", quote(word)));
    const CommandInfo* found = nullptr;
    std::vector<std::string> known;
    for (const CommandInfo& below : command->commands) {
      if (known.emplace_back(last_word(below.path)) == word) found = &below;
    }
    if (found == nullptr) throw unknown_subcommand(word, known);
    command = found;
  }
  return *command;
}

UsageError unknown_subcommand(const std::string& word, const std::vector<std::string>& known) {
  return UsageError(cat("unknown subcommand ", quote(word)), {}, suggestion(word, known, cat("known: ", join(known))));
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known, std::string otherwise) {
  const std::string near = nearest(word, known);
  return near.empty() ? std::move(otherwise) : cat("did you mean ", near, "?");
}

}  // namespace millrace::cli
