#include "millrace/cli/commands/commands.h"
#include "millrace/cli/help/help.h"
#include "millrace/cli/process/exit_code.h"

namespace millrace::cli {

namespace {

constexpr CommandText kManText = {
    "man", "Prints the manual page.", "  trainer man",
    R"(The page has what --help says of every subcommand, for man and other readers of roff.

EXAMPLES:
  trainer man > trainer.1
)",
    "trainer --help, trainer completion"};

constexpr CommandText kCompletionText = {
    "completion", "Prints a script that makes a shell complete this command line.",
    "  trainer completion bash|zsh|fish",
    R"(The script asks the program what fits, so it knows every kind and option of this build.

INSTALL:
  bash  add to ~/.bashrc: source <(trainer completion bash)
  zsh   add to ~/.zshrc, after compinit: source <(trainer completion zsh)
  fish  trainer completion fish > ~/.config/fish/completions/trainer.fish

EXAMPLES:
  source <(trainer completion bash)
  trainer completion zsh > _trainer
  trainer completion fish > trainer.fish
)",
    "trainer --help"};

struct ManArguments {
  void declare(Command&) {}
};

struct CompletionArguments {
  std::string shell;

  void declare(Command& c) { c.choice("SHELL", shell, kShells, "the shell that is to complete"); }
  void check(const Command& c) const {
    if (shell.empty()) throw UsageError("completion needs to know for which shell", {}, c.line() + " bash");
  }
};

int run_man(const ManArguments&, Session& session) {
  session.out.write(man_page(program()));
  return kExitDone;
}

int run_completion(const CompletionArguments& arguments, Session& session) {
  session.out.write(completion_script(arguments.shell));
  return kExitDone;
}

}  // namespace

Command man_command() { return make_command(kManText, run_man); }
Command completion_command() { return make_command(kCompletionText, run_completion); }

}  // namespace millrace::cli
