#include "millrace/cli/help/man_page.h"

#include <algorithm>
#include <string_view>

#include "millrace/cli/help/help.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/core/text.h"
#include "millrace/version.h"

namespace millrace::cli {

namespace {

// Of the last change that readers of the page notice: formatters ask for one.
constexpr std::string_view kDate = "2026-11-23";

// Text that roff prints as it is. A line must not begin with a dot or a quote, which would be a request.
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

std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view without_indent(std::string_view line) {
  return line.substr(std::min(line.find_first_not_of(' '), line.size()));
}

// "EXAMPLES:" -> "Examples:".
std::string heading(std::string_view line) {
  std::string out(line);
  std::transform(out.begin() + 1, out.end(), out.begin() + 1,
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

// Lines that begin with a blank are shown as they are; what lies between them is filled.
class Body {
 public:
  explicit Body(std::string& out) : out_(out) {}

  void add(std::string_view text) {
    bool fresh = true;
    while (!text.empty()) {
      const std::string_view line = take_line(text);
      const bool as_it_is = line.starts_with(' ');
      const bool is_heading = line.ends_with(':') && line.find(' ') == line.npos;
      if (as_it_is != inside_) toggle();
      if (line.empty() || (fresh && !as_it_is) || is_heading) begin_paragraph();
      if (!line.empty())
        out_ += cat(is_heading ? bold(heading(line)) : escaped(as_it_is ? line.substr(2) : line), '\n');
      fresh = is_heading && !as_it_is;
      if (fresh && text.starts_with(' ')) fresh = false;
    }
    if (inside_) toggle();
  }

 private:
  void begin_paragraph() {
    if (!out_.ends_with(".PP\n")) out_ += ".PP\n";
  }
  void toggle() {
    // A paragraph that holds nothing is none.
    if (out_.ends_with(".PP\n")) out_.resize(out_.size() - 4);
    out_ += inside_ ? ".fi\n.RE\n" : ".RS 4\n.nf\n";
    inside_ = !inside_;
  }

  std::string& out_;
  bool inside_ = false;
};

void add_synopsis(std::string& out, std::string_view usage) {
  bool first = true;
  while (!usage.empty()) {
    const std::string_view line = without_indent(take_line(usage));
    if (line.empty()) continue;
    if (!first) out += ".br\n";
    first = false;
    const size_t words = line.find_first_of("[") == line.npos ? line.size() : line.find_first_of("[");
    out += bold(line.substr(0, words)) + escaped(line.substr(words)) + '\n';
  }
}

bool is_help(const ArgumentInfo& argument) {
  return std::find(argument.names.begin(), argument.names.end(), "--help") != argument.names.end();
}

void add_arguments(std::string& out, const CommandInfo& command) {
  for (const ArgumentInfo& argument : command.arguments) {
    if (!command.path.empty() && is_help(argument)) continue;
    std::string head;
    for (const std::string& name : argument.names) head += (head.empty() ? "" : ", ") + bold(name);
    if (!argument.value.empty()) head += (head.empty() ? "" : " ") + italic(argument.value);
    if (head.empty()) continue;
    out += cat(".TP\n", head, '\n', escaped(argument.doc));
    if (!argument.default_value.empty()) out += cat(" (default: ", escaped(argument.default_value), ")");
    out += '\n';
  }
}

void add_command(std::string& out, const CommandInfo& command) {
  const HelpText& text = help_text(command.path);
  out += cat(".SS ", escaped(command_line(command)), '\n', escaped(text.summary), "\n.PP\n");
  add_synopsis(out, text.usage);
  add_arguments(out, command);
  Body(out).add(text.details);
}

}  // namespace

std::string man_page(const CommandInfo& program) {
  const HelpText& text = help_text("");
  std::string summary(text.summary);
  if (summary.ends_with('.')) summary.pop_back();
  if (!summary.empty()) summary[0] = static_cast<char>(summary[0] - 'A' + 'a');
  std::string out =
      cat(".TH TRAINER 1 ", kDate, " \"Millrace ", version(),
          "\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\ntrainer \\- ", escaped(summary), "\n.SH SYNOPSIS\n");
  add_synopsis(out, text.usage);
  out += ".SH DESCRIPTION\n";
  std::string description;
  Body(description).add(text.details);
  out += description.starts_with(".PP\n") ? description.substr(4) : description;
  out += ".SH OPTIONS\n";
  add_arguments(out, program);
  out += ".SH SUBCOMMANDS\n";
  for (const CommandInfo* command : all_commands(program)) {
    if (!command->path.empty()) add_command(out, *command);
  }
  out += cat(".SH EXIT STATUS\n", escaped(exit_codes_text()), "\n.SH SEE ALSO\n",
             escaped("trainer config, trainer ops and trainer layers print the reference of configurations"), '\n');
  return out;
}

}  // namespace millrace::cli
