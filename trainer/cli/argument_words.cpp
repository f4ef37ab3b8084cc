#include "millrace/trainer/cli/argument_words.h"

#include <algorithm>
#include <charconv>

#include "millrace/core/text.h"
#include "millrace/trainer/cli/usage_error.h"

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

int64_t whole_number(const std::string& name, const std::string& text, const WholeRange& range) {
  int64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = end.ec == std::errc() && end.ptr == text.data() + text.size();
  if (whole && value >= range.least && value <= range.most) return value;
  const std::string upper = range.most < WholeRange{}.most ? cat(" to ", range.most) : std::string();
  throw UsageError(cat(name, ": expected a whole number from ", range.least, upper, ", got ", quote(text)));
}

}  // namespace millrace::cli
