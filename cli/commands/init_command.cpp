#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "millrace/cli/arguments/configuration.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/init/init_text.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/terminal.h"
#include "millrace/core/context.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/files_in_use.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/input/first_rows.h"
#include "millrace/trainer/trainer.h"

namespace millrace::cli {

namespace {

constexpr CommandText kInitText = {
    "init", "Looks at CSV or Parquet data and writes a configuration that trains on them.",
    "  trainer init DATA.csv --label COLUMN [OPTIONS]",
    R"(Finds out how the files are written, what each column is and what the label asks for, chooses a
small model and says what it assumed. The configuration has comments and is a beginning: change what
you know better. Numbers are normalised, texts of few kinds become categories, and dates what the
calendar says of them; values that are missing in new data are provided for. Rows without a label
are left out, and some rows are held out to judge the model by. Identifiers, free text and columns
that say nothing are left out, too; --keep and --ignore decide otherwise. A FILE that exists is
replaced only with --force; data never.

EXAMPLES:
  trainer init iris.csv --label species
  trainer init "houses/*.csv" --label price --task regression --ignore id --out prices.yaml
  trainer init rows.csv --header no --label 0 --out -
)",
    "trainer check, trainer train, docs/init.md"};

struct InitArguments {
  std::vector<std::string> data, ignore, keep;
  std::string label, delimiter, out, task = "auto", header = "auto";
  int64_t look = 256;  // MiB
  bool force = false;

  void declare(Command& c) {
    c.texts("DATA", data, "DATA", "the files with the rows, paths or patterns");
    c.heading("INPUT");
    c.text("--label", label, "COLUMN", "what is to be predicted: a column's name, or its number from 0");
    c.texts("--ignore", ignore, "COLUMN", "leave a column out; may be repeated");
    c.texts("--keep", keep, "COLUMN", "do not leave a column out; may be repeated");
    c.choice("--task", task, "auto|regression|classes", "whether the label is an amount or a class");
    c.choice("--header", header, "auto|yes|no", "whether the first line names the columns");
    c.text("--delimiter", delimiter, "BYTE", "the byte between fields, or tab; found out by default");
    c.number("--look", look, {.least = 1, .most = 1 << 20}, "look at no more than N MiB of the data");
    c.heading("OUTPUT");
    c.text("--out", out, "FILE",
           "the configuration to write; - is standard output; DATA.yaml in the current folder by default");
    c.flag("--force", force, "replace FILE if it exists already");
  }
  void check(const Command& c) const {
    const std::string usage = c.line() + " DATA.csv --label COLUMN";
    if (data.empty()) throw UsageError("no data are given", {}, usage);
    if (force && out == "-") throw UsageError("--force replaces a file, and --out - writes none");
    // What lies in a folder tells whether there are columns at all: see look_at_data().
    const auto is_folder = [](const std::string& path) {
      std::error_code ignored;
      return std::filesystem::is_directory(path, ignored);
    };
    if (!label.empty() || std::ranges::any_of(data, is_folder)) return;
    throw UsageError("init needs to know which column is to be predicted", {}, usage);
  }
};

std::optional<char> delimiter_of(const std::string& text) {
  if (text.empty()) return {};
  if (text == "tab" || text == "\\t") return '\t';
  if (text.size() != 1 || text == "\n" || text == "\r" || text == "\"" || static_cast<unsigned char>(text[0]) >= 0x80) {
    throw UsageError(cat("--delimiter: expected one ASCII character that ends no line, or tab, got ", quote(text)));
  }
  return text[0];
}

DataLookArgs look_args(const InitArguments& arguments) {
  DataLookArgs out;
  out.files = arguments.data;
  out.label = arguments.label;
  out.delimiter = delimiter_of(arguments.delimiter);
  if (arguments.header != "auto") out.header = arguments.header == "yes";
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

void check_target(const std::string& path, const InitArguments& arguments, const DataLook& look) {
  if (find_invalid_utf8(path) != std::string::npos) throw UsageError(cat("--out ", quote(path, 4096), " is not UTF-8"));
  check_out("--out", path, {.read = look.paths, .written = {}}, {});
  std::error_code ignored;
  const auto status = std::filesystem::symlink_status(path, ignored);
  if (arguments.force || !std::filesystem::exists(status)) return;
  throw UsageError(cat(quote(path, 4096), " exists already"), {}, "--force replaces it; --out FILE writes to another");
}

// A file for the trained model that is neither one of the data files nor the configuration.
std::string model_path(const std::string& config, const DataLook& look) {
  for (const char* ending : {".safetensors", "-model.safetensors", "-trained-model.safetensors"}) {
    std::string path = with_ending(config, ending);
    if (would_overwrite(path, {.read = look.paths, .written = {}}, config).empty()) return path;
  }
  throw UsageError(cat("no name is left for the model next to ", quote(config, 4096)), {}, "give --out another name");
}

// Checks what `trainer check` checks, so that init writes only configurations that train.
void check_config(const std::string& text, const std::string& path) {
  Trainer trainer = Trainer::from_spec(parse_yaml(text, path));
  Executor executor(trainer.config().threads);
  check_first_rows(trainer.config(), Catalog::builtin().ops, trainer.model(), executor);
}

// The library reports what is wrong with an option of the command line as a ConfigError that begins with the option's
// name. It becomes a UsageError.
template <class Body>
auto with_usage(const Body& body) {
  try {
    return body();
  } catch (const ConfigError& error) {
    if (!error.message().starts_with("--")) throw;
    throw UsageError(error.message(), error.place(), error.hint());
  }
}

// A signal may end the program at once, because nothing is written until the end.
int run_init(const InitArguments& arguments, Session& session) {
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
  return exit_code_of_signal(session.signals.received());
}

}  // namespace

Command init_command() { return make_command(kInitText, run_init); }

}  // namespace millrace::cli
