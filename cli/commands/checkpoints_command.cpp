#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "millrace/cli/commands/commands.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/terminal.h"
#include "millrace/cli/text/json_text.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/trainer/checkpoint/checkpoint_file.h"
#include "millrace/trainer/checkpoint/checkpoint_folder.h"

namespace millrace::cli {

namespace {

constexpr CommandText kCheckpointsText = {
    "checkpoints", "Lists the checkpoints of a training, and says which of them are whole.",
    "  trainer checkpoints DIR [--json]",
    R"(DIR is the folder of the key checkpoint. Each file is read to its end and compared with its
checksum. A line says the step, when the file was written, the loss as a report at that step says
it, and the size; if the file cannot be used, why. The newest one that can be used is the one from
which --resume goes on. Nothing is changed, so a training may run meanwhile.

The exit code is 65 if there are checkpoints, but none can be used, and 0 if there are none at all.
It is 66 if there is no such folder, and 78 if the newest checkpoint is of a format that this
version does not read: --resume refuses it, too.

EXAMPLES:
  trainer checkpoints runs/mlp
  trainer checkpoints runs/mlp --json
)",
    "trainer train --resume, trainer config checkpoint, docs/checkpoints.md"};

struct CheckpointsArguments {
  std::string folder;
  bool json = false;

  void declare(Command& c) {
    c.text("DIR", folder, "DIR", "the folder");
    c.heading("OUTPUT");
    c.flag("--json", json, "print the list as one line of JSON");
  }
  void check(const Command& c) {
    if (folder.empty()) throw UsageError("no folder is given", {}, c.line() + " DIR");
  }
};

struct Listed {
  uint64_t step = 0;
  std::string file;
  std::optional<std::time_t> time = {};
  uint64_t bytes = 0;
  std::optional<double> loss = {};
  std::string fault = {};           // why the checkpoint cannot be used; empty if it can
  std::exception_ptr refusal = {};  // the same, if --resume does not pass over this one
  bool newest = false;              // --resume goes on from it
};

void require_folder(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    throw MissingError(cat("cannot list the folder: ", errno_text(errno)), {path, 0, 0});
  }
  if (!S_ISDIR(status.st_mode)) throw MissingError("it is not a folder", {path, 0, 0});
}

Listed look_at(const ListedCheckpoint& one) {
  Listed out{.step = one.step, .file = one.path};
  struct stat status {};
  if (::stat(one.path.c_str(), &status) == 0) {
    out.time = status.st_mtime;
    out.bytes = static_cast<uint64_t>(status.st_size);
  }
  try {
    out.loss = verify_checkpoint(one.path).loss;
  } catch (const Error& error) {
    out.fault = error.message();
    if (!is_passed_over(error.kind())) out.refusal = std::current_exception();
  }
  return out;
}

// Whether --resume looks at no older one.
bool ends_search(const Listed& one) { return one.fault.empty() || one.refusal; }

// A link that leads nowhere is there.
bool is_there(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

// Leaves out checkpoints that a running training has removed meanwhile.
std::vector<Listed> list(const std::string& folder) {
  require_folder(folder);
  std::vector<Listed> out;
  for (const ListedCheckpoint& one : list_checkpoints(folder)) {
    Listed listed = look_at(one);
    if (is_there(one.path)) out.push_back(std::move(listed));
  }
  const auto newest = std::find_if(out.rbegin(), out.rend(), ends_search);
  if (newest != out.rend()) newest->newest = newest->fault.empty();
  return out;
}

// The local time, such as "2026-11-26T18:57:22+0100".
std::string time_text(std::time_t time, const char* format) {
  std::tm local{};
  char text[64];
  if (::localtime_r(&time, &local) == nullptr) return {};
  return {text, std::strftime(text, sizeof text, format, &local)};
}

std::string checkpoints_text(const std::vector<Listed>& checkpoints, const std::string& folder) {
  if (checkpoints.empty()) return cat("no checkpoints are in ", escape_controls(folder), '\n');
  std::string out;
  for (const Listed& one : checkpoints) {
    out += cat("step ", one.step, one.time ? time_text(*one.time, "  %F %T") : "");
    if (one.loss) out += cat("  loss ", format_value(*one.loss));
    out += cat("  ", format_bytes(one.bytes), "  ");
    out += one.fault.empty() ? cat("whole", one.newest ? ", the newest" : "") : escape_controls(one.fault);
    out += '\n';
  }
  return out;
}

std::string checkpoints_event(const std::vector<Listed>& checkpoints, const std::string& folder) {
  JsonText json = JsonText::event("checkpoints");
  json.key("folder").value(folder).key("checkpoints").open('[');
  for (const Listed& one : checkpoints) {
    json.open('{').key("step").value(one.step).key("file").value(one.file);
    json.key("time").text_or_null(one.time ? time_text(*one.time, "%FT%T%z") : "").key("loss").value(one.loss);
    json.key("bytes").value(one.bytes).key("whole").value(one.fault.empty());
    json.key("fault").text_or_null(one.fault).key("newest").value(one.newest).close('}');
  }
  return json.close(']').line();
}

int run_checkpoints(const CheckpointsArguments& arguments, Session& session) {
  const std::vector<Listed> checkpoints = list(arguments.folder);
  session.out.write(arguments.json ? checkpoints_event(checkpoints, arguments.folder)
                                   : folded_for(STDOUT_FILENO, checkpoints_text(checkpoints, arguments.folder)));
  const auto found = std::find_if(checkpoints.rbegin(), checkpoints.rend(), ends_search);
  if (found != checkpoints.rend() && found->refusal) std::rethrow_exception(found->refusal);
  if (!checkpoints.empty() && found == checkpoints.rend()) {
    throw DataError("no checkpoint can be used", {arguments.folder, 0, 0}, "move them away to begin anew");
  }
  return kExitDone;
}

}  // namespace

Command checkpoints_command() { return make_command(kCheckpointsText, run_checkpoints); }

}  // namespace millrace::cli
