#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/cli/arguments/configuration.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/doctor/doctor.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/terminal.h"
#include "millrace/cli/report/json_events.h"
#include "millrace/cli/report/json_log.h"
#include "millrace/cli/report/result_text.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/core/context.h"
#include "millrace/core/text.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "millrace/trainer/input/first_rows.h"
#include "millrace/trainer/trainer.h"

namespace millrace::cli {

namespace {

constexpr CommandText kCheckText = {
    "check", "Checks everything but the training: configuration, graph, shapes, files, headers, first rows.",
    R"(  trainer check --config FILE [OPTIONS]
  trainer check FILE [OPTIONS])",
    R"(Says what the model looks like and how much memory a training needs at most; opens every file, reads
a batch of rows from the first; writes nothing. With --print, the configuration with every default
goes to standard output, the rest to standard error.

EXAMPLES:
  trainer check --config mlp.yaml
  trainer check --config mlp.yaml --print > resolved.yaml
  trainer check --config mlp.yaml --json
)",
    "trainer input, trainer config, trainer schema"};

struct CheckArguments : ConfigArguments {
  bool print = false;
  bool json = false;

  void declare(Command& c) {
    ConfigArguments::declare(c);
    c.heading("OUTPUT");
    c.flag("--print", print, "print the configuration with every default");
    c.flag("--json", json, "print the report as one line of JSON");
  }
};

// With a GPU the bound does not tell which part of it is the host's.
void warn_of_memory(const Trainer& trainer, uint64_t bound, std::vector<std::string>& warnings) {
  std::vector<std::string> told_before;
  if (!device_of(trainer.config(), told_before).is_cpu()) return;
  const std::optional<MachineMemory> memory = machine_memory();
  if (!memory || bound <= memory->total) return;
  warnings.push_back(cat("a training may take more memory than there is, ", format_bytes(memory->total),
                         ": lower batch_size, capacity or the sizes of the layers"));
}

int run_check(const CheckArguments& arguments, Session& session) {
  const Catalog catalog = read_catalog(arguments);
  Trainer trainer = Trainer::from_spec(read_configuration(arguments, catalog), catalog);
  check_log(trainer);
  trainer.input().check_files();
  if (const InputGraph* validation = trainer.validation_input()) validation->check_files();
  Executor executor(trainer.config().threads);
  FirstRows first;
  if (!trainer.input().reads_once()) {
    first = check_first_rows(trainer.config(), catalog.ops, trainer.model(), executor);
  }
  std::vector<std::string> warnings = trainer.warnings();
  if (!first.warning.empty()) warnings.push_back(std::move(first.warning));
  const uint64_t memory_bound = trainer.memory_bound();
  warn_of_memory(trainer, memory_bound, warnings);
  const Port& port = trainer.input().output();
  const CheckReport report{.rows = port.rows.text(),
                           .batch_size = port.batch_size,
                           .model = trainer.model().summary(),
                           .parameters = trainer.model().parameter_count(),
                           .memory_bound = memory_bound,
                           .varies = trainer.input().varies(),
                           .rows_read = first.rows,
                           .warnings = std::move(warnings)};
  const Spec* config = arguments.print ? &trainer.config().resolved : nullptr;
  if (arguments.json) {
    session.out.write(check_event(report, config));
  } else if (config != nullptr) {
    write_to_stderr(folded_for(STDERR_FILENO, check_text(report)));
    session.out.write(to_yaml(*config));
  } else {
    session.out.write(folded_for(STDOUT_FILENO, check_text(report)));
  }
  return kExitDone;
}

}  // namespace

Command check_command() { return make_command(kCheckText, run_check); }

}  // namespace millrace::cli
