#include "millrace/cli/help/help.h"

#include "millrace/cli/reference/reference.h"
#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

constexpr std::string_view kBash = R"sh(# Completion of trainer for bash, made by `trainer completion bash`.
_trainer() {
  local line current=${COMP_WORDS[COMP_CWORD]#=}
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      compopt -o filenames 2>/dev/null
      mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
    else
      COMPREPLY+=("${line%%$'\t'*}")
    fi
  done < <("${1/#\~\//$HOME/}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _trainer trainer
)sh";

constexpr std::string_view kZsh = R"sh(#compdef trainer
# Completion of trainer for zsh, made by `trainer completion zsh`.
_trainer() {
  local line files=''
  local -a offered
  for line in ${(f)"$(${~words[1]} __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)"}; do
    if [[ $line == :files ]]; then
      files=yes
    else
      offered+=(${line/$'\t'/:})
    fi
  done
  (( $#offered )) && _describe trainer offered
  if [[ -n $files ]]; then
    compset -P '--*='
    _files
  fi
}
if [[ $funcstack[1] == _trainer ]]; then
  _trainer "$@"
else
  compdef _trainer trainer
fi
)sh";

constexpr std::string_view kFish = R"sh(# Completion of trainer for fish, made by `trainer completion fish`.
function __trainer_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
        if test "$line" = :files
            set -l option (string match -r -- '^--[^=]*=' "$current")
            for path in (__fish_complete_path (string replace -- "$option" '' "$current"))
                echo "$option$path"
            end
        else
            echo $line
        end
    end
end
complete -c trainer -f -a '(__trainer_complete)'
)sh";

}  // namespace

std::string completions(std::span<const std::string> words, const Command& program) {
  if (words.empty()) return {};
  const Command* command = &program;
  const Argument* asked = nullptr;  // the option whose value comes next
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "=") continue;  // bash makes three words of --option=value
    const Argument* option = asked == nullptr ? command->option(word) : nullptr;
    if (const Command* below = command->below(word); below != nullptr && asked == nullptr) command = below;
    const bool takes_value = option != nullptr && !option->value.empty();
    asked = takes_value && (!option->value_is_optional || words[i + 1] == "=") ? option : nullptr;
  }
  std::string_view typed = words.back(), before;
  const size_t equals = typed.find('=');
  if (typed == "=") {
    typed = {};
  } else if (asked == nullptr && typed.starts_with('-') && equals != typed.npos) {
    before = typed.substr(0, equals + 1);
    asked = command->option(typed.substr(0, equals));
    if (asked == nullptr) return {};
    typed = typed.substr(equals + 1);
  }
  // Offers a word if it begins with what was typed.
  std::string out;
  const auto offer = [&](std::string_view word, std::string_view meaning) {
    if (word.starts_with(typed)) out += cat(before, word, meaning.empty() ? "" : "\t", meaning, '\n');
  };
  const auto offer_values = [&](const Argument& argument) {
    const std::string& value = argument.value;
    if (value == "FILE" || value == "DIR" || value == "GLOB") out += ":files\n";
    for (const std::string& name : choices_of(value)) offer(name, {});
    for (const std::string& name : names_for(value)) offer(name, {});
  };
  if (asked != nullptr) {
    offer_values(*asked);
  } else if (typed.starts_with('-')) {
    for (const Argument& argument : command->arguments) {
      if (argument.is_positional()) continue;
      for (const std::string& name : argument.names) offer(name, argument.doc);
    }
  } else {
    for (const Command& below : command->commands) offer(below.name(), below.about.summary);
    for (const Argument& argument : command->arguments) {
      if (argument.is_positional()) offer_values(argument);
    }
  }
  return out;
}

std::string_view completion_script(std::string_view shell) {
  return shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish;
}

}  // namespace millrace::cli
