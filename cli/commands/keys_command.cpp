#include <string>

#include "millrace/cli/commands/commands.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/trainer/remote/curve_keys.h"

namespace millrace::cli {

namespace {

constexpr CommandText kKeysText = {
    "keys", "Makes a pair of keys, for a worker or for the trainings that use it.", "  trainer keys --out NAME",
    R"(Writes NAME.key, which only its owner can read, and NAME.pub. The .key stays on the machine where
it was made. The .pub goes to the other side: a worker's to the trainings (workers.server_key), a
training's into the worker's folder of clients (--clients). A file that is there is never replaced.

EXAMPLES:
  trainer keys --out worker
  trainer keys --out ann
)",
    "trainer worker, trainer config workers, docs/remote.md"};

struct KeysArguments {
  std::string out;

  void declare(Command& c) { c.text("--out", out, "NAME", "where the two files go, without .key and .pub"); }
  void check(const Command& c) {
    if (out.empty()) throw UsageError("no name is given", {}, c.line() + " --out NAME");
    if (out.ends_with('/')) throw UsageError(cat("--out ", quote(out), " is a folder"), {}, "give a name in it");
    if (!out.ends_with(".key") && !out.ends_with(".pub")) return;
    throw UsageError(cat("--out ", quote(out), ": expected a name without .key and .pub"), {},
                     cat("--out ", out.substr(0, out.size() - 4)));
  }
};

int run_keys(const KeysArguments& arguments, Session& session) {
  write_keys(arguments.out);
  const std::string name = escape_controls(arguments.out);
  session.out.write(cat(name, ".key: secret, stays here\n", name, ".pub: for the other side\n"));
  return kExitDone;
}

}  // namespace

Command keys_command() { return make_command(kKeysText, run_keys); }

}  // namespace millrace::cli
