#include <algorithm>
#include <string_view>

#include "millrace/cli/help/help.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/core/text.h"
#include "millrace/version.h"

namespace millrace::cli {

namespace {

// Formatters want a date. It is the day of the last change that readers of the page notice.
constexpr std::string_view kDate = "2026-11-26";

// Escapes text so that roff prints it as it is. A line that begins with a dot or a quote would be a request.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      case '\'': out += "\\(aq"; break;
      case '`': out += "\\(ga"; break;
      case '^': out += "\\(ha"; break;
      case '~': out += "\\(ti"; break;
      default: out += c;
    }
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string bold(std::string_view text) { return cat("\\fB", escaped(text), "\\fR"); }
std::string italic(std::string_view text) { return cat("\\fI", escaped(text), "\\fR"); }

// "EXAMPLES:" -> "Examples:".
std::string heading(std::string_view line) {
  std::string out(line);
  std::transform(out.begin() + 1, out.end(), out.begin() + 1,
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

// Lines that begin with a blank stay as they are; other lines are joined into paragraphs.
std::string body(std::string_view text) {
  std::string out;
  bool as_it_is = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (as_it_is != line.starts_with(' ')) {
      as_it_is = !as_it_is;
      out += as_it_is ? ".RS 4\n.nf\n" : ".fi\n.RE\n";
    }
    const bool is_heading = line.ends_with(':') && line.find(' ') == line.npos;
    if (line.empty()) {
      out += ".PP\n";
    } else {
      out += cat(is_heading ? bold(heading(line)) : escaped(as_it_is ? line.substr(2) : line), '\n');
    }
  }
  return as_it_is ? out + ".fi\n.RE\n" : out;
}

std::string arguments(const Command& command) {
  std::string out;
  for (const Argument& argument : command.arguments) {
    std::string head;
    for (const std::string& name : argument.names) head += (head.empty() ? "" : ", ") + bold(name);
    if (argument.is_positional()) head.clear();
    if (argument.name() == "--help" && !command.about.path.empty()) continue;
    if (!argument.value.empty()) {
      if (!head.empty()) head += escaped(argument.before_value());
      head += italic(argument.value) + escaped(argument.after_value());
    }
    out += cat(".TP\n", head, '\n', escaped(argument.doc));
    if (!argument.default_value.empty()) out += cat(" (default: ", escaped(argument.default_value), ")");
    out += '\n';
  }
  return out;
}

}  // namespace

std::string man_page(const Command& program) {
  const CommandText& text = program.about;
  std::string summary(text.summary);
  if (summary.ends_with('.')) summary.pop_back();
  if (!summary.empty()) summary[0] = static_cast<char>(summary[0] - 'A' + 'a');
  std::string out = cat(".TH TRAINER 1 ", kDate, " \"Millrace ", version(),
                        "\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\ntrainer \\- ", escaped(summary),
                        "\n.SH SYNOPSIS\n", body(text.usage), ".SH DESCRIPTION\n", body(text.details), ".SH OPTIONS\n",
                        arguments(program), ".SH SUBCOMMANDS\n");
  for (const Command* command : all_commands(program)) {
    if (command == &program) continue;
    out += cat(".SS ", escaped(command->line()), '\n', escaped(command->about.summary), '\n',
               body(command->about.usage), arguments(*command), ".PP\n", body(command->about.details));
  }
  return cat(out, ".SH EXIT STATUS\n", escaped(exit_codes_text()), "\n.SH SEE ALSO\n",
             escaped("trainer config, trainer ops and trainer layers print the reference of configurations"), '\n');
}

}  // namespace millrace::cli
