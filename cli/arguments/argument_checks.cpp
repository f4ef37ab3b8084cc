#include "millrace/cli/arguments/argument_checks.h"

#include <CLI/App.hpp>
#include <algorithm>

#include "millrace/cli/arguments/argument_words.h"
#include "millrace/cli/help/command_description.h"
#include "millrace/core/registry.h"
#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

bool takes_value(const CLI::Option& option) { return option.get_type_size() != 0; }

}  // namespace

UsageError translated(const CLI::ParseError& error) {
  const std::string what = error.what();
  if (const size_t colon = what.find(": 1 required"); colon != std::string::npos) {
    return UsageError(cat(what.substr(0, colon), " needs a value"));
  }
  return UsageError(what);
}

std::vector<std::string> known_words(const CLI::App& app, bool flags) {
  std::vector<std::string> out;
  if (flags) {
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
    }
  } else {
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
      out.push_back(sub->get_name());
  }
  return out;
}

void check_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& values = option->results();
    if (takes_value(*option) && std::find(values.begin(), values.end(), std::string()) != values.end()) {
      throw UsageError(cat(option->get_name(), " needs a value"));
    }
  }
  for (const CLI::App* selected : app.get_subcommands()) check_values(*selected);
}

void check_words(const CLI::App& app) {
  bool options_ended = false;
  for (const std::string& word : app.remaining()) {
    const bool ends_options = word == "--" && !options_ended;
    options_ended = options_ended || ends_options;
    if (ends_options) continue;
    if (word.size() > 1 && word.front() == '-' && !options_ended) {
      const std::string flag = word.substr(0, word.find('='));
      throw UsageError(cat("unknown option ", flag), {}, suggestion(flag, known_words(app, true), {}));
    }
    throw UsageError(cat("unexpected argument ", quote(word)), {}, suggestion(word, known_words(app, false), {}));
  }
  for (const CLI::Option* option : app.get_options()) {
    const bool repeats = option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    if (takes_value(*option) && option->count() > 1 && !repeats) {
      throw UsageError(cat(option->get_name(), " is given twice"));
    }
  }
  for (const CLI::App* selected : app.get_subcommands()) check_words(*selected);
}

void check_order(const CLI::App& selected) {
  for (const CLI::App* app = selected.get_parent(); app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      if (option->count() == 0) continue;
      throw UsageError(cat(option->get_name(), " stands before ", selected.get_name(), ", where it means nothing"), {},
                       cat("put it behind: trainer ", selected.get_name(), " ", option->get_name(), " ..."));
    }
  }
}

void check_build(const CLI::App& selected, const std::vector<std::string>& left_out) {
  const std::string path = path_of(selected), command = path.substr(0, path.find(' '));
  if (std::find(left_out.begin(), left_out.end(), command) == left_out.end()) return;
  throw UsageError(left_out_text(cat("subcommand ", quote(command)), command), {}, left_out_hint(command));
}

void check_explain(const Arguments& arguments, const CLI::App& selected) {
  if (!arguments.explain) return;
  const bool batches = arguments.batches || selected.count("--format") > 0 || !arguments.out.empty();
  if (batches) throw UsageError("--explain prints no batches", {}, "leave out --batches, --format and --out");
}

}  // namespace millrace::cli
