#include "millrace/cli/arguments/command.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "millrace/cli/process/exit_code.h"
#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

std::vector<std::string> split_at(std::string_view text, char separator) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    out.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

}  // namespace

std::string Command::name() const { return std::string(about.path.substr(about.path.rfind(' ') + 1)); }
std::string Command::line() const { return cat("trainer", about.path.empty() ? "" : " ", about.path); }

Argument& Command::add(std::string_view names, std::string_view placeholder, std::string_view doc,
                       std::function<void(const std::string&)> read) {
  arguments.push_back({.names = split_at(names, ','),
                       .value = std::string(placeholder),
                       .default_value = {},
                       .doc = std::string(doc),
                       .group = group_,
                       .read = std::move(read)});
  return arguments.back();
}

void Command::flag(std::string_view names, bool& value, std::string_view doc) {
  add(names, {}, doc, [&value](const std::string&) { value = true; });
}

void Command::text(std::string_view name, std::string& value, std::string_view placeholder, std::string_view doc) {
  add(name, placeholder, doc, [&value](const std::string& text) { value = text; });
}

void Command::optional_text(std::string_view name, std::optional<std::string>& value, std::string_view placeholder,
                            std::string_view doc) {
  add(name, placeholder, doc, [&value](const std::string& text) { value = text; }).value_is_optional = true;
}

void Command::texts(std::string_view name, std::vector<std::string>& values, std::string_view placeholder,
                    std::string_view doc) {
  add(name, placeholder, doc, [&values](const std::string& text) { values.push_back(text); }).repeats = true;
}

void Command::choice(std::string_view name, std::string& value, std::string_view choices, std::string_view doc) {
  const auto read = [&value, name = std::string(name), known = choices_of(choices)](const std::string& text) {
    value = one_of(name, text, known);
  };
  add(name, choices, doc, read).default_value = value;
}

const Argument* Command::option(std::string_view name) const {
  for (const Argument& argument : arguments) {
    if (!argument.is_positional() && std::ranges::find(argument.names, name) != argument.names.end()) return &argument;
  }
  return nullptr;
}

const Command* Command::below(std::string_view name) const {
  const auto found = std::ranges::find(commands, name, &Command::name);
  return found == commands.end() ? nullptr : &*found;
}

std::vector<const Command*> all_commands(const Command& command) {
  std::vector<const Command*> out = {&command};
  for (const Command& below : command.commands) {
    for (const Command* one : all_commands(below)) out.push_back(one);
  }
  return out;
}

std::vector<std::string> choices_of(std::string_view value) {
  return value.find('|') == value.npos ? std::vector<std::string>() : split_at(value, '|');
}

template <class T>
T number_in(const NumberRange<T>& range, std::string_view name, const std::string& text) {
  T value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool all = end.ec == std::errc() && end.ptr == text.data() + text.size();
  if (all && value >= range.least && value <= range.most) return value;
  const std::string upper = range.most < NumberRange<T>{}.most ? cat(" to ", range.most) : std::string();
  throw UsageError(cat(name, ": expected a ", std::integral<T> ? "whole " : "", "number from ", range.least, upper,
                       ", got ", quote(text)));
}
template int64_t number_in(const NumberRange<int64_t>&, std::string_view, const std::string&);
template double number_in(const NumberRange<double>&, std::string_view, const std::string&);

const std::string& one_of(std::string_view name, const std::string& text, const std::vector<std::string>& choices) {
  if (std::ranges::find(choices, text) != choices.end()) return text;
  throw UsageError(cat(name, ": expected ", join(choices, " or "), ", got ", quote(text)), {},
                   suggestion(text, choices));
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known, std::string otherwise) {
  const std::string near = nearest(word, known);
  return near.empty() ? std::move(otherwise) : cat("did you mean ", near, "?");
}

}  // namespace millrace::cli
