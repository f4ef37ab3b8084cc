#include "millrace/trainer/cli/argument_words.h"

#include <algorithm>

#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

// The option of that name of any command; null when there is none.
const ArgumentInfo* find_option(const CommandInfo& program, const std::string& name) {
  for (const CommandInfo* command : all_commands(program)) {
    for (const ArgumentInfo& argument : command->arguments) {
      if (std::find(argument.names.begin(), argument.names.end(), name) != argument.names.end()) return &argument;
    }
  }
  return nullptr;
}

}  // namespace

SplitWords split_values(std::span<const std::string> words, const CommandInfo& program) {
  SplitWords out;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      out.words.insert(out.words.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    const size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, equals);
    const ArgumentInfo* option = name.starts_with("--") ? find_option(program, name) : nullptr;
    out.words.push_back(option == nullptr ? word : name);
    if (option == nullptr) continue;
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

}  // namespace millrace::cli
