// What is wrong with a command line that CLI11 has parsed, in our words.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "millrace/cli/arguments/arguments.h"
#include "millrace/cli/process/usage_error.h"

namespace millrace::cli {

// CLI11's message without its capitals: only values that are missing or not wanted remain for it to find.
UsageError translated(const CLI::ParseError& error);

// Names of the options (`flags`), or of the subcommands, that fit here, for hints.
std::vector<std::string> known_words(const CLI::App& app, bool flags);

// Throws UsageError where a build without the capabilities `left_out` has no such command.
void check_build(const CLI::App& selected, const std::vector<std::string>& left_out);
// Throws UsageError for empty values, of `app` and of the subcommands below it that were given: a variable of the shell
// that is not set, rather than a wish.
void check_values(const CLI::App& app);
// Throws UsageError for words there that no option, subcommand or argument took, and for options given twice.
void check_words(const CLI::App& app);
// Throws UsageError when options stand before the subcommand that they are meant for.
void check_order(const CLI::App& selected);
// Throws UsageError where --explain stands beside options that it leaves no meaning.
void check_explain(const Arguments& arguments, const CLI::App& selected);

}  // namespace millrace::cli
