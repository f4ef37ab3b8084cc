#include "millrace/cli/help/completion.h"

#include <algorithm>

#include "millrace/cli/help/help.h"
#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

// What may follow somewhere on the command line.
struct Candidates {
  std::vector<std::string> words;
  bool files = false;
};

bool is_path(const std::string& value) { return value == "FILE" || value == "DIR" || value == "GLOB"; }
bool is_positional(const ArgumentInfo& argument) { return argument.names.empty(); }
bool takes_value(const ArgumentInfo& argument) { return !argument.names.empty() && !argument.value.empty(); }

// Text between single quotes; `quote` is how one of them is written there.
std::string quoted(std::string_view text, std::string_view quote) {
  std::string out = "'";
  for (const char c : text) c == '\'' ? out += quote : out += c;
  return out + "'";
}
std::string posix_quoted(std::string_view text) { return quoted(text, R"('\'')"); }
std::string fish_quoted(std::string_view text) { return quoted(text, R"(\')"); }

std::string spaced(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += cat(out.empty() ? "" : " ", word);
  return out;
}

// Writes the scripts; everything that they share is here.
class Script {
 public:
  using Names = std::function<std::vector<std::string>(const std::string& value)>;
  Script(const CommandInfo& program, const Names& names) : commands_(all_commands(program)), names_(names) {}

  std::string bash() const;
  std::string zsh() const;
  std::string fish() const;

 private:
  Candidates values(const ArgumentInfo& argument) const {
    Candidates out{choices_of(argument.value), is_path(argument.value)};
    if (out.words.empty() && !out.files) out.words = names_(argument.value);
    return out;
  }
  // Subcommands and values of positional arguments.
  Candidates plain_words(const CommandInfo& command) const;
  // `case` branches of bash and zsh that find the subcommand, word by word.
  std::string subcommand_branches() const;
  // `case` branches "COMMAND:--option", each with the body that `write` gives.
  template <class Write>
  std::string value_branches(const Write& write) const;

  const std::vector<const CommandInfo*> commands_;
  const Names& names_;
};

Candidates Script::plain_words(const CommandInfo& command) const {
  Candidates out;
  for (const CommandInfo& below : command.commands) out.words.push_back(last_word(below.path));
  for (const ArgumentInfo& argument : command.arguments) {
    if (!is_positional(argument)) continue;
    const Candidates more = values(argument);
    out.words.insert(out.words.end(), more.words.begin(), more.words.end());
    out.files = out.files || more.files;
  }
  return out;
}

std::string Script::subcommand_branches() const {
  std::string out;
  for (const CommandInfo* command : commands_) {
    for (const CommandInfo& below : command->commands) {
      out += cat("      ", posix_quoted(cat(command->path, ' ', last_word(below.path))),
                 ") command=", posix_quoted(below.path), " ;;\n");
    }
  }
  return out;
}

template <class Write>
std::string Script::value_branches(const Write& write) const {
  std::string out;
  for (const CommandInfo* command : commands_) {
    for (const ArgumentInfo& argument : command->arguments) {
      if (!takes_value(argument)) continue;
      std::string pattern;
      for (const std::string& name : argument.names) {
        pattern += cat(pattern.empty() ? "" : " | ", posix_quoted(cat(command->path, ':', name)));
      }
      out += cat("    ", pattern, ") ", write(values(argument)), " ;;\n");
    }
  }
  return out;
}

std::string Script::bash() const {
  const auto offer = [](const Candidates& offered) {
    const std::string words = offered.words.empty() ? "" : cat("words=", posix_quoted(spaced(offered.words)));
    const std::string files = offered.files ? "files=yes" : "";
    if (words.empty() && files.empty()) return std::string("return");
    return cat(words, words.empty() || files.empty() ? "" : " ", files);
  };
  std::string branches;
  for (const CommandInfo* command : commands_) {
    std::vector<std::string> flags;
    for (const ArgumentInfo& argument : command->arguments) {
      flags.insert(flags.end(), argument.names.begin(), argument.names.end());
    }
    const Candidates plain = plain_words(*command);
    branches += cat("        ", posix_quoted(command->path), ") flags=", posix_quoted(spaced(flags)),
                    plain.words.empty() && !plain.files ? "" : cat(" ", offer(plain)), " ;;\n");
  }
  return cat(R"(# Completion of trainer for bash, made by `trainer completion bash`.
_trainer() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local command='' words='' flags='' files='' i
  # --option=value comes in three words.
  if [[ $current == = ]]; then
    current=''
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$command ${COMP_WORDS[i]}" in
)",
             subcommand_branches(), R"(    esac
  done
  COMPREPLY=()
  case "$command:$before" in
)",
             value_branches(offer), R"(    *)
      case "$command" in
)",
             branches, R"(      esac
      if [[ $current == -* ]]; then
        words=$flags files=''
      fi
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -F _trainer trainer
)");
}

std::string Script::zsh() const {
  const auto offer = [](const Candidates& offered) {
    std::string out;
    if (!offered.words.empty()) out = cat("compadd -- ", spaced(offered.words), "; ");
    if (offered.files) out += "_files; ";
    return out + "return";
  };
  // "name:description" for _describe, where a colon in the name would end it.
  const auto described = [](const std::string& name, std::string_view doc) {
    return cat(' ', posix_quoted(cat(name, ':', doc)));
  };
  std::string branches;
  for (const CommandInfo* command : commands_) {
    std::string flags, words;
    for (const ArgumentInfo& argument : command->arguments) {
      for (const std::string& name : argument.names) flags += described(name, argument.doc);
    }
    for (const CommandInfo& below : command->commands) {
      words += described(last_word(below.path), help_text(below.path).summary);
    }
    const Candidates plain = plain_words(*command);
    for (size_t i = command->commands.size(); i < plain.words.size(); ++i)
      words += cat(' ', posix_quoted(plain.words[i]));
    branches += cat("    ", posix_quoted(command->path), ")\n      flags=(", flags, " )\n      words_here=(", words,
                    " )\n      files=", plain.files ? "yes" : "''", "\n      ;;\n");
  }
  return cat(R"(#compdef trainer
# Completion of trainer for zsh, made by `trainer completion zsh`.
_trainer() {
  local command='' files='' i
  local -a flags words_here
  for ((i = 2; i < CURRENT; ++i)); do
    case "$command ${words[i]}" in
)",
             subcommand_branches(), R"(    esac
  done
  case "$command:${words[CURRENT - 1]}" in
)",
             value_branches(offer), R"(  esac
  case "$command" in
)",
             branches, R"(  esac
  if [[ $PREFIX == -* ]]; then
    _describe -o option flags
    return
  fi
  (( $#words_here )) && _describe command words_here
  [[ -n $files ]] && _files
}
if [[ $funcstack[1] == _trainer ]]; then
  _trainer "$@"
else
  compdef _trainer trainer
fi
)");
}

std::string Script::fish() const {
  std::string switches, lines;
  for (const CommandInfo* command : commands_) {
    const std::string here = cat("complete -c trainer -n ", fish_quoted(cat("__trainer_is \"", command->path, "\"")));
    for (const CommandInfo& below : command->commands) {
      const std::string word = last_word(below.path);
      switches += cat("            case ", fish_quoted(cat(command->path, ' ', word)), "\n                set command ",
                      fish_quoted(below.path), '\n');
      lines += cat(here, " -a ", word, " -d ", fish_quoted(help_text(below.path).summary), '\n');
    }
    for (const ArgumentInfo& argument : command->arguments) {
      const Candidates offered = values(argument);
      std::string line = here;
      for (const std::string& name : argument.names) {
        line += name.starts_with("--") ? cat(" -l ", name.substr(2)) : cat(" -s ", name.substr(1));
      }
      if (takes_value(argument)) line += offered.files ? " -r" : " -x";
      if (offered.files) line += " -F";
      if (!offered.words.empty()) line += cat(" -a ", fish_quoted(spaced(offered.words)));
      lines += cat(line, " -d ", fish_quoted(argument.doc), '\n');
    }
  }
  return cat(R"(# Completion of trainer for fish, made by `trainer completion fish`.
function __trainer_is
    set -l command ''
    for word in (commandline -opc)[2..-1]
        switch "$command $word"
)",
             switches, R"(        end
    end
    test "$command" = "$argv[1]"
end
complete -c trainer -f
)",
             lines);
}

}  // namespace

std::string completion_script(Shell shell, const CommandInfo& program,
                              const std::function<std::vector<std::string>(const std::string& value)>& names) {
  const Script script(program, names);
  switch (shell) {
    case Shell::bash: return script.bash();
    case Shell::zsh: return script.zsh();
    case Shell::fish: return script.fish();
  }
  return {};
}

}  // namespace millrace::cli
