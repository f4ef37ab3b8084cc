#include <unistd.h>

#include <filesystem>
#include <utility>

#include "millrace/cli/commands/commands.h"
#include "millrace/cli/init/config_text.h"
#include "millrace/cli/init/init_text.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/status_line.h"
#include "millrace/cli/process/terminal.h"
#include "millrace/cli/process/usage_error.h"
#include "millrace/core/executor.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/files_in_use.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/input/first_rows.h"
#include "millrace/trainer/trainer.h"

namespace millrace::cli {

namespace {

std::optional<char> delimiter_of(const std::string& text) {
  if (text.empty()) return {};
  if (text == "tab" || text == "\\t") return '\t';
  if (text.size() != 1 || text == "\n" || text == "\r" || text == "\"" || static_cast<unsigned char>(text[0]) >= 0x80) {
    throw UsageError(cat("--delimiter: expected one ASCII character that ends no line, or tab, got ", quote(text)));
  }
  return text[0];
}

DataLookArgs look_args(const Arguments& arguments) {
  DataLookArgs out;
  out.files = arguments.data;
  out.label = arguments.label;
  out.delimiter = delimiter_of(arguments.delimiter);
  if (arguments.header != HeaderChoice::automatic) out.header = arguments.header == HeaderChoice::yes;
  out.most_bytes = static_cast<uint64_t>(arguments.look) << 20;
  return out;
}

// "data/iris.csv" -> "iris.yaml".
std::string default_path(const std::string& data) {
  const std::string stem = std::filesystem::path(data).stem().string();
  return cat(stem.empty() ? "model" : stem, ".yaml");
}

std::string with_ending(const std::string& path, const std::string& ending) {
  return std::filesystem::path(path).replace_extension().string() + ending;
}

void check_target(const std::string& path, const Arguments& arguments, const DataLook& look) {
  if (find_invalid_utf8(path) != std::string::npos) throw UsageError(cat("--out ", quote(path, 4096), " is not UTF-8"));
  const std::string loss = would_overwrite(path, {.read = look.paths, .written = {}}, {});
  if (!loss.empty()) throw UsageError(cat("--out ", quote(path, 4096), ' ', loss), {}, "give it another name");
  std::error_code ignored;
  const auto status = std::filesystem::symlink_status(path, ignored);
  if (arguments.force || !std::filesystem::exists(status)) return;
  throw UsageError(cat(quote(path, 4096), " exists already"), {}, "--force replaces it; --out FILE writes to another");
}

// Where the training keeps its model: never over the data or the configuration.
std::string model_path(const std::string& config, const DataLook& look) {
  for (const char* ending : {".safetensors", "-model.safetensors", "-trained-model.safetensors"}) {
    std::string path = with_ending(config, ending);
    if (would_overwrite(path, {.read = look.paths, .written = {}}, config).empty()) return path;
  }
  throw UsageError(cat("no name is left for the model beside ", quote(config, 4096)), {}, "give --out another name");
}

// As `trainer check` does, so that nothing is written that would not train.
void check_config(const std::string& text, const std::string& path) {
  Trainer trainer = Trainer::from_spec(parse_yaml(text, path));
  Executor executor(trainer.config().threads);
  check_first_rows(trainer.config(), Catalog::builtin().ops, trainer.model(), executor);
}

// What is wrong with an option of the command line, which the library names, is a matter of usage.
template <class Body>
auto with_usage(const Body& body) {
  try {
    return body();
  } catch (const ConfigError& error) {
    if (!error.message().starts_with("--")) throw;
    throw UsageError(error.message(), error.place(), error.hint());
  }
}

}  // namespace

// A signal ends the program at once: nothing is written before all is known, and then as a whole.
int run_init(const Arguments& arguments, Session& session) {
  const DataLookArgs args = look_args(arguments);
  const bool to_out = arguments.out == "-";
  StatusLine status(!is_terminal(STDERR_FILENO));
  status.show("looking at the data");
  const DataLook look = with_usage([&] { return look_at_data(args); });
  const std::string path = to_out || arguments.out.empty() ? default_path(look.paths.front()) : arguments.out;
  if (!to_out) check_target(path, arguments, look);
  const InitPlan plan = with_usage([&] {
    return plan_training({.look = look, .task = arguments.task, .ignore = arguments.ignore, .keep = arguments.keep});
  });
  const std::string model = model_path(path, look);
  const ConfigText config = config_text({.look = look, .plan = plan, .save = model, .command = next_command(path)});
  check_config(config.text, path);
  status.clear();
  if (to_out) {
    write_to_stderr(init_text({.look = look, .plan = plan, .by_number = config.by_number}));
    session.out.write(config.text);
  } else {
    const auto guard = session.signals.while_running([] {});
    Output file = Output::file(path);
    file.write(config.text);
    file.close();
    session.out.write(init_text({.look = look, .plan = plan, .config = path, .by_number = config.by_number}));
    session.out.write(cat("\nnext: ", next_command(path), '\n'));
    if (plan.held_out > 0) session.out.write(cat("then: ", then_command(model), '\n'));
  }
  session.out.flush();
  const int signal = session.signals.received();
  return signal == 0 ? static_cast<int>(kExitDone) : exit_code_of_signal(signal);
}

}  // namespace millrace::cli
