// The texts of --help, for the whole program and each subcommand.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace millrace::cli {

// Makes `app` print its help as: description, usage, options, subcommands, examples.
void set_help_format(CLI::App& app);

// Usage lines and examples of the subcommand `name` ("" is the program itself).
struct HelpText {
  std::string_view name;
  std::string_view summary;  // one line
  std::string_view usage;
  std::string_view details;  // behind the options: what is worth knowing, then examples
};
const HelpText& help_text(std::string_view name);

// What the program says when it is given nothing to do.
std::string_view short_help();

}  // namespace millrace::cli
